// node bench/baseline.mjs <port>: lower bound of a node:http server. It reads a request and sends stored bytes. `PUT /name` stores a body,
// `POST /name` returns it; `POST /json` parses the request and returns JSON.
import { createServer } from 'node:http'

/** @type {Map<string, Buffer>} */
const kept = new Map()

const server = createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    const body = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks)
    const answer = request.method === 'PUT' ? keep(request.url, body) : request.url === '/json' ? echo(body) : kept.get(request.url)
    if (answer === undefined) response.writeHead(200, { 'content-type': 'application/json', 'content-length': 2 }).end('{}')
    else response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer)
  })
})
server.keepAliveTimeout = 75_000
server.listen(Number(process.argv[2]), '127.0.0.1')

function keep(url, body) {
  kept.set(url, body)
  return Buffer.from('{}')
}

function echo(body) {
  const { id } = JSON.parse(body.toString('utf8'))
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result: '0x7a69' }))
}
