/** Sends a document, and tells how far it is: only XMLHttpRequest says so. */
import { Refused, Unreachable } from './client'
import { askForToken, authorization } from './token.svelte'
import type { components } from './schema'
import type { Problem } from './types'

export type Uploaded = components['schemas']['UploadedSource']

export async function upload(file: File, allowSecrets: boolean, tell: (share: number) => void, signal: AbortSignal): Promise<Uploaded> {
  for (;;) {
    const sent = authorization()
    const { status, said } = await send(file, allowSecrets, sent.Authorization, tell, signal)
    if (status >= 200 && status < 300) return said as Uploaded
    if (status !== 401) throw new Refused(status, (said ?? {}) as Partial<Problem>)
    await askForToken(sent.Authorization)
  }
}

function send(file: File, allowSecrets: boolean, token: string | undefined, tell: (share: number) => void, signal: AbortSignal): Promise<{ status: number; said: unknown }> {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest()
    const form = new FormData()
    form.append('file', file, file.name)
    if (allowSecrets) form.append('allow_secrets', 'true')
    request.open('POST', '/sources')
    if (token) request.setRequestHeader('Authorization', token)
    request.upload.onprogress = ({ loaded, total }) => tell(total ? loaded / total : 0)
    request.onload = () => {
      try {
        done({ status: request.status, said: JSON.parse(request.responseText) as unknown })
      } catch {
        done({ status: request.status, said: null })
      }
    }
    request.onerror = () => failed(new Unreachable())
    request.onabort = () => failed(new DOMException('It was removed.', 'AbortError'))
    signal.addEventListener('abort', () => request.abort())
    request.send(form)
  })
}
