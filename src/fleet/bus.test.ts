import { randomBytes } from 'node:crypto'
import { inspect } from 'node:util'
import { jetstreamManager } from '@nats-io/jetstream'
import { connect, headers } from '@nats-io/transport-node'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { Bus } from './bus.ts'
import { FleetError } from './errors.ts'
import { BUS_BYTES } from './limits.ts'
import { startProxy, until } from '../../test/fleet/fleet.fixture.ts'
import { NO_SERVERS, freePort, startNats, startNatsCluster } from '../../test/fleet/servers.fixture.ts'

const EPOCH = 3
const LARGE_BYTES = 5_000_000
const SECRET = 'hunter2-secret'

describe.skipIf(NO_SERVERS !== null)(`the bus${NO_SERVERS === null ? '' : ` (${NO_SERVERS})`}`, () => {
  let nats: Awaited<ReturnType<typeof startNats>>
  const buses: Bus[] = []
  const ends: (() => Promise<unknown>)[] = []
  let chains = 0
  beforeAll(async () => {
    nats = await startNats()
  })
  afterEach(async () => {
    for (const bus of buses.splice(0)) await bus.close()
    for (const end of ends.splice(0)) await end()
  })
  afterAll(() => nats[Symbol.asyncDispose]())

  async function join(url = nats.url, chain = `c${chains}`) {
    const notes: string[] = []
    const bus = await Bus.connect({ url, chain, onNote: (line) => notes.push(line) })
    buses.push(bus)
    return Object.assign(bus, { notes })
  }

  /** Two processes of a new chain. */
  async function pair(url = nats.url) {
    chains++
    return [await join(url), await join(url)] as const
  }

  /** Of a client that is none of a fleet. */
  async function stranger(url = nats.url) {
    const client = await connect({ servers: url.split(',') })
    ends.push(() => client.close())
    return client
  }

  /** What `bus` receives from now on. */
  async function listen(bus: Bus) {
    const received: { readonly epoch: number; readonly number: number; readonly frame: Uint8Array }[] = []
    const stop = bus.subscribe((epoch, number, frame) => received.push({ epoch, number, frame }))
    await bus.flush()
    return { received, stop, numbers: () => received.map(({ number }) => number) }
  }

  const failure = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: unknown) => (error instanceof FleetError ? { reason: error.reason, message: error.message } : error),
    )

  async function rejection(url: string): Promise<unknown> {
    const error: unknown = await Bus.connect({ url, chain: 'c', onNote: () => undefined }).then(
      async (bus) => bus.close(),
      (reason: unknown) => reason,
    )
    expect(inspect(error, { depth: 9 })).not.toContain(SECRET)
    return error instanceof FleetError ? { reason: error.reason, message: error.message } : error
  }

  test.each([0, 1, 200, LARGE_BYTES])(
    'carries a frame of %i bytes to each subscriber, and holds it for those that missed it',
    async (size) => {
      const [sender, receiver] = await pair()
      const [first, second] = [await listen(receiver), await listen(await join())]
      expect(await sender.captureFrames()).toBeNull()
      const frame = randomBytes(size)
      sender.publish(EPOCH, 7, frame)
      await until('both have the frame', () => first.received.length + second.received.length === 2)
      for (const { received } of [first, second]) {
        expect(received[0]).toMatchObject({ epoch: EPOCH, number: 7 })
        expect(Buffer.compare(received[0]!.frame, frame)).toBe(0)
      }
      await until('JetStream has the frame', async () => (await receiver.fetch(EPOCH, 7, 7))[0] !== null)
      const [missing, held, next] = await receiver.fetch(EPOCH, 6, 8)
      expect([missing, next]).toEqual([null, null])
      expect(Buffer.compare(held!, frame)).toBe(0)
      expect(await receiver.fetch(EPOCH + 1, 7, 7)).toEqual([null])
      expect(await receiver.fetch(EPOCH, 8, 7)).toEqual([])
    },
  )

  test('carries frames in order, to those that subscribe', async () => {
    const [sender, receiver] = await pair()
    const { numbers, stop } = await listen(receiver)
    const other = await join(nats.url, 'another')
    const strange = await listen(other)
    for (let number = 1; number <= 500; number++) sender.publish(EPOCH, number, randomBytes(number === 250 ? LARGE_BYTES : 10))
    await until('all frames', () => numbers().length === 500)
    expect(numbers()).toEqual(Array.from({ length: 500 }, (_, index) => index + 1))
    stop()
    sender.publish(EPOCH, 501, randomBytes(10))
    await sender.flush()
    await receiver.flush()
    expect(numbers().length).toBe(500)
    expect(strange.numbers()).toEqual([])
  })

  test('carries requests and answers in parts, also of requesters whose parts alternate', async () => {
    const [server, first] = await pair()
    const second = await join()
    server.serve('rpc', (body) => Promise.resolve(Buffer.from(body).reverse()))
    await server.flush()
    const bodies = Array.from({ length: 6 }, () => randomBytes(LARGE_BYTES))
    const answers = await Promise.all(bodies.map((body, index) => (index % 2 === 0 ? first : second).request('rpc', body, 20_000)))
    for (const [index, body] of bodies.entries()) expect(Buffer.compare(answers[index]!, body.reverse())).toBe(0)
  })

  test('joins the parts of two senders with the same subject', async () => {
    const [receiver] = await pair()
    expect(await receiver.captureFrames()).toBeNull()
    const { received } = await listen(receiver)
    const client = await stranger()
    const subject = `pocketchain.c${chains}.frames.${EPOCH}.1`
    const frames = ['a', 'b'].map((letter) => ['0', '1', '2'].map((part) => `${letter}${part}`))
    for (const index of [0, 1, 2])
      for (const [sender, parts] of frames.entries()) {
        const header = headers()
        header.set('Pocketchain-Part', `${index}/3`)
        header.set('Pocketchain-Part-Of', `sender${sender}`)
        client.publish(index === 2 ? subject : `${subject}.${index}`, parts[index], { headers: header })
      }
    await until('both frames', () => received.length === 2)
    expect(received.map(({ frame }) => Buffer.from(frame).toString())).toEqual(['a0a1a2', 'b0b1b2'])
    await until('JetStream has the newest', async () => Buffer.from((await receiver.fetch(EPOCH, 1, 1))[0] ?? []).toString() === 'b0b1b2')
  })

  test('drops a message whose parts are incomplete, and gets later ones', async () => {
    const [sender, receiver] = await pair()
    expect(await sender.captureFrames()).toBeNull()
    const { received } = await listen(receiver)
    const client = await stranger()
    const subject = `pocketchain.c${chains}.frames.${EPOCH}.1`
    const send = (part: string, id: string, to = subject) => {
      const header = headers()
      header.set('Pocketchain-Part', part)
      header.set('Pocketchain-Part-Of', id)
      client.publish(to, part, { headers: header })
    }
    send('1/2', 'without the first')
    send('0/3', 'without the second')
    send('2/3', 'without the second')
    send('0/2', 'without the last')
    send('x/y', 'no numbers')
    send('0/0', 'no parts')
    await client.flush()
    const frame = randomBytes(LARGE_BYTES)
    sender.publish(EPOCH, 2, frame)
    await until('the next frame', () => received.length === 1)
    expect(Buffer.compare(received[0]!.frame, frame)).toBe(0)
    expect(await receiver.fetch(EPOCH, 1, 1)).toEqual([null])
  })

  test('answers of two processes that serve at once are not mixed', async () => {
    const [first, requester] = await pair()
    const second = await join()
    const bodies = [randomBytes(LARGE_BYTES), randomBytes(LARGE_BYTES)]
    for (const [index, bus] of [first, second].entries()) {
      bus.serve('rpc', () => Promise.resolve(bodies[index]!))
      bus.serve('status', () => Promise.resolve(bodies[index]!))
      await bus.flush()
    }
    for (let turn = 0; turn < 3; turn++) {
      const answer = await requester.request('rpc', new Uint8Array(0), 20_000)
      expect(bodies.some((body) => Buffer.compare(body, answer) === 0)).toBe(true)
    }
    const answers = await requester.requestAll('status', 2_000)
    expect(new Set(answers.map((answer) => bodies.findIndex((body) => Buffer.compare(body, answer) === 0)))).toEqual(new Set([0, 1]))
  })

  test('refuses a request at once when nobody serves, and after its time', async () => {
    const [server, requester] = await pair()
    expect(await failure(requester.request('rpc', randomBytes(10), 5_000))).toEqual({
      reason: 'no-sequencer',
      message: 'no sequencer is running; start one, or repeat the request when a standby has taken over',
    })
    expect(await failure(requester.request('rpc', randomBytes(LARGE_BYTES), 5_000))).toMatchObject({ reason: 'no-sequencer' })
    expect(await requester.requestAll('status', 50)).toEqual([])
    let release: (answer: Uint8Array) => void = () => undefined
    const stop = server.serve('rpc', () => new Promise((resolve) => (release = resolve)))
    await server.flush()
    expect(await failure(requester.request('rpc', randomBytes(10), 80))).toEqual({
      reason: 'unavailable',
      message: 'the sequencer did not answer within 80 ms; it may have been executed: look for its effect before you repeat it',
    })
    release(randomBytes(10)) // too late, for an inbox that is gone
    const abort = new AbortController()
    const aborted = failure(requester.request('rpc', randomBytes(10), 5_000, abort.signal))
    abort.abort(new FleetError('deposed', 'another epoch'))
    expect(await aborted).toEqual({ reason: 'deposed', message: 'another epoch' })
    expect(await failure(requester.request('rpc', randomBytes(10), 5_000, abort.signal))).toEqual({
      reason: 'deposed',
      message: 'another epoch',
    })
    stop()
    await server.flush()
    expect(await failure(requester.request('rpc', randomBytes(10), 5_000))).toMatchObject({ reason: 'no-sequencer' })
  })

  test('a failure while serving reaches the requester, and serving goes on', async () => {
    const [server, requester] = await pair()
    const failures: (() => Promise<Uint8Array>)[] = [
      () => Promise.reject(new FleetError('deposed', 'another process\nis the sequencer')),
      () => Promise.reject(new RangeError('out of range')),
      () => {
        throw new TypeError('thrown before the promise')
      },
      () => Promise.resolve(new Uint8Array(BUS_BYTES + 1)),
    ]
    server.serve('rpc', ([index = 0]) => failures[index]?.() ?? Promise.resolve(Uint8Array.of(index)))
    await server.flush()
    const messages = []
    for (const index of failures.keys()) messages.push(await failure(requester.request('rpc', Uint8Array.of(index), 5_000)))
    const uncertain = 'it may have been executed: look for its effect before you repeat it'
    expect(messages).toEqual([
      { reason: 'unavailable', message: 'another process\nis the sequencer' },
      { reason: 'unavailable', message: `the sequencer failed: RangeError: out of range; ${uncertain}` },
      { reason: 'unavailable', message: `the sequencer failed: TypeError: thrown before the promise; ${uncertain}` },
      { reason: 'unavailable', message: `the answer has ${BUS_BYTES + 1} bytes, above the limit of ${BUS_BYTES}; ask for less` },
    ])
    expect([...(await requester.request('rpc', Uint8Array.of(9), 5_000))]).toEqual([9])
  })

  test('carries a message of the largest size, and refuses a larger one', async () => {
    const [sender, receiver] = await pair()
    const { received } = await listen(receiver)
    sender.publish(EPOCH, 1, new Uint8Array(BUS_BYTES + 1))
    expect(sender.notes).toEqual([
      `a frame has ${BUS_BYTES + 1} bytes, above the limit of ${BUS_BYTES}: it is not sent, and replicas read the chain from PostgreSQL`,
    ])
    const frame = Buffer.alloc(BUS_BYTES, randomBytes(9_973))
    sender.publish(EPOCH, 2, frame)
    await until('the frame', () => received.length > 0)
    expect(received.map(({ number }) => number)).toEqual([2])
    expect(Buffer.compare(received[0]!.frame, frame)).toBe(0)
    expect(await failure(sender.request('rpc', new Uint8Array(BUS_BYTES + 1), 5_000))).toEqual({
      reason: 'unavailable',
      message: `the request has ${BUS_BYTES + 1} bytes, above the limit of ${BUS_BYTES}; ask for less`,
    })
  })

  test('says what to do when the server is away, and refuses bad URLs', async () => {
    const port = await freePort()
    expect(await rejection(`nats://fleet:${SECRET}@127.0.0.1:${port}`)).toEqual({
      reason: 'unavailable',
      message: expect.stringMatching(
        new RegExp(
          `^NATS at nats://127\\.0\\.0\\.1:${port} cannot be reached \\(.*\\); check that nats-server runs, and the host and port in the URL$`,
        ),
      ),
    })
    const form = 'the URL of NATS cannot be read; it has the form nats://user:password@host:4222'
    expect(await rejection(`${SECRET}@127.0.0.1:${port}`)).toEqual({ reason: 'options', message: form })
    expect(await rejection(`nats://fleet:${SECRET}%zz@127.0.0.1:${port}`)).toEqual({ reason: 'options', message: form })
    expect(await rejection(`http://fleet:${SECRET}@127.0.0.1:${port}`)).toEqual({
      reason: 'options',
      message: 'the URL of NATS begins with http://, not with nats://',
    })
  })

  test('checks the password and the token of the URL', async () => {
    await using withPassword = await startNats({ auth: { user: 'fleet', password: `${SECRET}:/%` } })
    const at = (credentials: string, { port }: { readonly port: number }) => `nats://${credentials}127.0.0.1:${port}`
    const refused = (url: string) => ({
      reason: 'credentials',
      message: `NATS at ${url} refuses the user; check the user and the password, or the token, in the URL`,
    })
    for (const credentials of ['', `fleet:wrong-${SECRET}@`, `${SECRET}@`])
      expect(await rejection(at(credentials, withPassword)), credentials).toEqual(refused(withPassword.url))
    await using withToken = await startNats({ settings: `authorization { token: "${SECRET}" }` })
    expect(await rejection(at(`wrong-${SECRET}@`, withToken))).toEqual(refused(withToken.url))
    for (const url of [at(`fleet:${encodeURIComponent(`${SECRET}:/%`)}@`, withPassword), at(`${SECRET}@`, withToken)]) {
      const [sender, receiver] = await pair(url)
      const { numbers } = await listen(receiver)
      sender.publish(EPOCH, 1, randomBytes(10))
      await until('the frame', () => numbers().length === 1)
      await sender.close()
      await receiver.close()
    }
  })

  test('refuses a server whose messages are too small', async () => {
    await using small = await startNats({ settings: 'max_payload: 1024' })
    expect(await rejection(small.url)).toEqual({
      reason: 'options',
      message: `NATS at ${small.url} accepts messages of 1024 bytes; set max_payload of nats-server to at least 4096`,
    })
    await using least = await startNats({ settings: 'max_payload: 4096' })
    const [sender, receiver] = await pair(least.url)
    expect(await sender.captureFrames()).toBeNull()
    const { received } = await listen(receiver)
    const frame = randomBytes(1_000_000)
    sender.publish(EPOCH, 1, frame)
    await until('the frame', () => received.length === 1)
    expect(Buffer.compare(received[0]!.frame, frame)).toBe(0)
    for (const bus of buses.splice(0)) await bus.close()
  })

  test('works without JetStream, where no frame is held', async () => {
    await using plain = await startNats({ jetStream: false })
    const [sender, receiver] = await pair(plain.url)
    expect(await sender.captureFrames()).toBe('NATS has no JetStream now (nats-server -js)')
    const { numbers } = await listen(receiver)
    sender.publish(EPOCH, 1, randomBytes(10))
    await until('the frame', () => numbers().length === 1)
    expect(await receiver.fetch(EPOCH, 1, 2)).toEqual([null, null])
    for (const bus of buses.splice(0)) await bus.close()
  })

  test('takes over a stream with another configuration, and names one that is in its way', async () => {
    const [sender, receiver] = await pair()
    const manager = await jetstreamManager(await stranger())
    const name = `pocketchain-c${chains}`
    await manager.streams.add({ name, subjects: ['another.subject'], storage: 'memory', max_msgs: 5, allow_direct: false })
    expect(await sender.captureFrames()).toBeNull()
    expect((await manager.streams.info(name)).config).toMatchObject({ subjects: [`pocketchain.c${chains}.frames.>`], allow_direct: true })
    sender.publish(EPOCH, 1, Buffer.from('one'))
    await until('JetStream has the frame', async () => (await receiver.fetch(EPOCH, 1, 1))[0] !== null)
    // It has no limit of messages any more.
    for (let number = 2; number <= 20; number++) sender.publish(EPOCH, number, randomBytes(10))
    await until('JetStream has all frames', async () => (await receiver.fetch(EPOCH, 20, 20))[0] !== null)
    expect((await receiver.fetch(EPOCH, 1, 20)).includes(null)).toBe(false)
    expect(await (await join()).captureFrames()).toBeNull()

    const [blocked] = await pair()
    await manager.streams.add({ name: 'in-the-way', subjects: [`pocketchain.c${chains}.>`] })
    expect(await blocked.captureFrames()).toBe(
      `JetStream does not keep the stream pocketchain-c${chains} (subjects overlap with an existing stream)`,
    )
  })

  test('says that JetStream has no room, and makes the stream once it has', async () => {
    await using full = await startNats({ settings: 'jetstream { max_file_store: 1MB }' })
    const [sender] = await pair(full.url)
    expect(await sender.captureFrames()).toBe(
      `JetStream does not keep the stream pocketchain-c${chains} (insufficient storage resources available)`,
    )
    await full.kill()
    full.configure('jetstream { max_file_store: 4GB }')
    await full.start()
    const manager = await jetstreamManager(await stranger(full.url))
    await until('the stream', () =>
      manager.streams.info(`pocketchain-c${chains}`).then(
        () => true,
        () => false,
      ),
    )
    for (const bus of buses.splice(0)) await bus.close()
  })

  test('goes on after a restart of the server: subscriptions, serving and the stream, also when its disk is lost', async () => {
    await using server = await startNats()
    const [sender, receiver] = await pair(server.url)
    expect(await sender.captureFrames()).toBeNull()
    const { numbers } = await listen(receiver)
    receiver.serve('rpc', (body) => Promise.resolve(body))
    receiver.serve('status', () => new Promise(() => undefined))
    await receiver.flush()
    sender.publish(EPOCH, 1, randomBytes(10))
    await until('the first frame', () => numbers().length === 1)
    const waiting = failure(sender.request('status', randomBytes(10), 60_000))
    await sender.flush()
    await server.kill()
    expect(await waiting).toMatchObject({
      reason: 'unavailable',
      message: 'the connection to NATS was lost during the request; it may have been executed: look for its effect before you repeat it',
    })
    expect(sender.isConnected).toBe(false)
    expect(await failure(sender.request('rpc', randomBytes(10), 60_000))).toEqual({
      reason: 'no-sequencer',
      message: 'this process is not connected to NATS now; repeat the request',
    })
    server.loseData()
    sender.publish(EPOCH, 2, randomBytes(10)) // lost
    await server.start()
    await until('both are connected', () => sender.isConnected && receiver.isConnected)
    expect(sender.notes).toEqual([
      `the connection to NATS at ${server.url} is lost; it is tried again`,
      `connected to NATS at 127.0.0.1:${server.port} again`,
    ])
    await receiver.flush()
    const body = randomBytes(LARGE_BYTES)
    expect(Buffer.compare(await sender.request('rpc', body, 20_000), body)).toBe(0)
    await until('the stream is there again', async () => {
      sender.publish(EPOCH, 3, randomBytes(10))
      return (await receiver.fetch(EPOCH, 3, 3))[0] !== null
    })
    expect(numbers()).toContain(3)
    for (const bus of buses.splice(0)) await bus.close()
  })

  test('connects again when its credentials are valid again', async () => {
    const users = (password: string) => `authorization { user: fleet, password: "${password}" }`
    await using server = await startNats({ settings: users(SECRET) })
    await using proxy = await startProxy(server.port)
    const sender = await join(`nats://fleet:${SECRET}@127.0.0.1:${proxy.port}`)
    await server.kill()
    await until('the loss is noticed', () => !sender.isConnected)
    server.configure(users('another'))
    await server.start()
    // The client's default is to give up after two refusals.
    const before = proxy.connections()
    await until('some refusals', () => proxy.connections() > before + 4)
    expect(sender.isConnected).toBe(false)
    await server.kill()
    server.configure(users(SECRET))
    await server.start()
    await until('it is connected', () => sender.isConnected)
    for (const bus of buses.splice(0)) await bus.close()
  })

  test('notices a server that stands still, and ends the requests to it', async () => {
    await using server = await startNats()
    const [requester, receiver] = await pair(server.url)
    receiver.serve('rpc', (body) => Promise.resolve(body))
    await receiver.flush()
    server.pause()
    expect(await failure(requester.request('rpc', randomBytes(10), 60_000))).toMatchObject({ reason: 'unavailable' })
    expect(requester.isConnected).toBe(false)
    server.resume()
    await until('both are connected', () => requester.isConnected && receiver.isConnected)
    await until('the request is served', async () => (await failure(requester.request('rpc', randomBytes(10), 5_000))) === null)
    for (const bus of buses.splice(0)) await bus.close()
  })

  test('closes while the server is away, and ends the requests that wait', async () => {
    await using server = await startNats()
    const [first, second] = await pair(server.url)
    second.serve('rpc', () => new Promise(() => undefined))
    await second.flush()
    const waiting = failure(first.request('rpc', randomBytes(10), 60_000))
    await first.close()
    expect(await waiting).toMatchObject({ reason: 'unavailable' })
    expect(await failure(first.request('rpc', randomBytes(10), 60_000))).toMatchObject({ reason: 'no-sequencer' })
    first.publish(EPOCH, 1, randomBytes(10))
    await first.close()
    await server.kill()
    await until('the loss is noticed', () => !second.isConnected)
    await second.close()
  })

  test('a subscriber that is cut off by a slow connection fetches what it missed', async () => {
    const [sender] = await pair()
    expect(await sender.captureFrames()).toBeNull()
    await using proxy = await startProxy(nats.port)
    const receiver = await join(`nats://127.0.0.1:${proxy.port}`)
    const { numbers } = await listen(receiver)
    const frames = Array.from({ length: 40 }, () => randomBytes(1_500_000))
    for (const [index, frame] of frames.entries()) {
      if (index === 10) proxy.cut()
      sender.publish(EPOCH, index + 1, frame)
      await sender.flush()
    }
    proxy.mend()
    await until('the receiver is connected', () => receiver.isConnected)
    expect(numbers().length).toBeLessThan(40)
    await until('JetStream has the newest', async () => (await receiver.fetch(EPOCH, 40, 40))[0] !== null)
    const fetched = await receiver.fetch(EPOCH, 1, 40)
    for (const [index, frame] of frames.entries()) expect(Buffer.compare(fetched[index]!, frame), `${index + 1}`).toBe(0)
    await receiver.close()
  })

  test('of a cluster of three carries frames on while one server is killed, and a subscriber fetches what it missed', async () => {
    await using cluster = await startNatsCluster()
    const [a, b, c] = cluster.servers
    // The stream has three copies if its maker lists three servers.
    const [keeper] = await pair(cluster.url)
    const [sender, receiver, victim] = [await join(a!.url), await join(c!.url), await join(b!.url)]
    await until('the stream is kept', async () => (await keeper.captureFrames()) === null, 30_000)
    const [whole, interrupted] = [await listen(receiver), await listen(victim)]
    const frame = (number: number) => `frame ${number}`.repeat(100)
    let newest = 0
    const send = async (count: number) => {
      for (const last = newest + count; newest < last;) {
        newest++
        sender.publish(EPOCH, newest, Buffer.from(frame(newest)))
        await sender.flush()
      }
    }
    await until('the servers have the subscriptions', async () => {
      await send(1)
      return whole.received.length > 0 && interrupted.received.length > 0
    })
    const first = whole.received[0]!.number
    await send(50)
    const killed = b!.kill()
    await send(100)
    await killed
    await send(50)
    await until('the newest frame', () => whole.numbers().at(-1) === newest)
    // Core subjects have no leader: the others lose nothing.
    expect(whole.numbers()).toEqual(Array.from({ length: newest - first + 1 }, (_, index) => first + index))
    await until('the loss is noticed', () => !victim.isConnected && keeper.isConnected)
    expect(interrupted.numbers().at(-1)).toBeLessThan(newest)
    await b!.start()
    await until('the victim is connected', () => victim.isConnected)
    const missed = (interrupted.numbers().at(-1) ?? 0) + 1
    const last = newest
    await until(
      'the stream has a leader',
      async () => {
        await send(1)
        return (await victim.fetch(EPOCH, newest, newest))[0] !== null
      },
      30_000,
    )
    // The stream lacks those that were sent without a leader.
    const fetched = await victim.fetch(EPOCH, missed, last)
    for (const [index, bytes] of fetched.entries()) if (bytes !== null) expect(Buffer.from(bytes).toString()).toBe(frame(missed + index))
    // Requests cross the servers too.
    receiver.serve('rpc', (body) => Promise.resolve(body))
    await receiver.flush()
    const body = randomBytes(LARGE_BYTES)
    await until('the victim knows who serves', async () => (await failure(victim.request('rpc', Buffer.from('x'), 5_000))) === null)
    expect(Buffer.compare(await victim.request('rpc', body, 20_000), body)).toBe(0)
    for (const bus of buses.splice(0)) await bus.close()
  })
})
