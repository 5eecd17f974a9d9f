/** The one worker that all tabs of the page share. */
import { Hub } from './hub'

const hub = new Hub()
const scope = globalThis as unknown as { onconnect: (event: MessageEvent) => void }

scope.onconnect = (event) => {
  const [port] = event.ports
  if (port) hub.connect(port)
}
