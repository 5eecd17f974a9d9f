import { Graph, layout, type EdgeLabel, type GraphLabel, type NodeLabel } from '@dagrejs/dagre'
import type { Exchange } from './exchange'

export interface Laid {
  width: number
  height: number
  size: { width: number; height: number }
  nodes: Record<string, { x: number; y: number }>
  edges: { path: string; x: number; y: number }[]
}

export const BADGE = 26

/** Where everything stands, in as much width as there is. */
export function lay({ voices, challenges }: Exchange, room: number): Laid {
  const narrow = room < 520
  const size = { width: narrow ? 142 : 210, height: narrow ? 122 : 106 }
  const graph = new Graph<GraphLabel, NodeLabel, EdgeLabel>({ multigraph: true })
  graph.setGraph({ rankdir: 'TB', nodesep: narrow ? 18 : 48, edgesep: narrow ? 18 : 32, ranksep: 26, marginx: 4, marginy: 4 })
  for (const { id } of voices) graph.setNode(id, { ...size })
  challenges.forEach(({ source, target }, nth) => {
    graph.setEdge(source, target, { width: BADGE, height: BADGE, labelpos: 'c' }, String(nth))
  })
  layout(graph)
  const { width = 0, height = 0 } = graph.graph()
  return {
    width,
    height,
    size,
    nodes: Object.fromEntries(voices.map(({ id }) => [id, at(graph.node(id))])),
    edges: challenges.map(({ source, target }, nth) => {
      const edge = graph.edge(source, target, String(nth))
      return { path: smooth(edge.points ?? []), ...at(edge) }
    }),
  }
}

const at = ({ x = 0, y = 0 }: { x?: number; y?: number }): { x: number; y: number } => ({ x, y })

function smooth(points: { x: number; y: number }[]): string {
  const [first, ...rest] = points
  if (!first) return ''
  let path = `M${first.x},${first.y}`
  rest.forEach((point, nth) => {
    const next = rest[nth + 1]
    if (!next) path += ` L${point.x},${point.y}`
    else path += ` Q${point.x},${point.y} ${(point.x + next.x) / 2},${(point.y + next.y) / 2}`
  })
  return path
}
