/** Saves a file from the service, fetched with the token. */
import { download } from '../api/client'

export async function save(path: string, name: string): Promise<void> {
  const url = URL.createObjectURL(await download(path))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 10_000)
}
