import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, loadEnv } from 'vite'

const service = loadEnv('', '.', 'MOOT_URL').MOOT_URL ?? 'http://127.0.0.1:8420'

/** Our own calls, for `npm run dev`: the page's routes are /, /new, /example, /d/…, /studio/… and /air/…, the service's the rest. */
const calls = ['/debates', '/agents', '/stations', '/on-air', '/events', '/formats', '/providers', '/records', '/sources', '/settings', '/examples', '/plan', '/openapi.json', '/docs']

export default defineConfig({
  plugins: [svelte()],
  build: {
    outDir: '../src/moot/api/static',
    emptyOutDir: true,
    assetsInlineLimit: 0, // the policy allows no data: address
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  server: { proxy: Object.fromEntries(calls.map((path) => [path, { target: service, changeOrigin: true }])) },
})
