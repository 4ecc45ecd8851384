// Compares the responses of all participants to a request, then times them in turns.
import { isDeepStrictEqual } from 'node:util'
import { FLOOR } from './participants.mjs'
import { ask, load, loadOnce } from './load.mjs'
import { median } from './table.mjs'

/**
 * @typedef {object} Question
 * @property {string} group
 * @property {string} name
 * @property {string} method
 * @property {readonly unknown[] | ((peer: string) => readonly unknown[])} params
 * @property {boolean} [isJsonFloor] the floor reads and writes JSON
 * @property {number} [lanes] concurrent connections (1)
 * @property {(result: any) => unknown} [same] what of the result has to be equal everywhere (all of it)
 * @property {(result: any) => string | null} [wrong] what is wrong with a result that all agree on
 */

/** @typedef {{ [peer: string]: import('./load.mjs').Sample | { missing: string } }} Cells */

/** Sends the same request repeatedly. Adds a row to the report. */
export async function compare(participants, peers, /** @type {Question} */ question) {
  const lanes = question.lanes ?? 1
  const bodyFor = bodies(question)
  const { entrants, cells, isAgreed } = await agree(participants, peers, question, bodyFor)
  const { rounds, seconds } = participants.options
  if (isAgreed) {
    const runners = [...entrants, await floorOf(participants, entrants[0], question, bodyFor)]
    for (const [i, runner] of runners.entries()) {
      const process = entrants[i] ?? participants.floor
      await load(runner, bodyFor(runner.name), { lanes, seconds: warm.has(process) ? seconds : participants.options.warmUpSeconds })
      warm.add(process)
    }
    const samples = runners.map(() => [])
    for (let round = 0; round < rounds; round++) {
      for (const [i, runner] of runners.entries()) samples[i].push(await load(runner, bodyFor(runner.name), { lanes, seconds }))
    }
    for (const [i, runner] of runners.entries()) cells[runner.name] = summary(samples[i])
  }
  participants.report.rates({ group: question.group, name: question.name, lanes, cells })
}

/**
 * Sends each of many requests once, a share of them per round, so that nothing is cached. The baseline sends our response to the first.
 * @param {Omit<Question, 'params'> & { each: readonly (readonly unknown[])[] }} question
 */
export async function compareOnce(participants, peers, { each, ...question }) {
  // The first is used for the comparison and therefore not timed.
  const first = { ...question, params: each[0] }
  const others = each.slice(1).map((params) => bodyOf({ ...question, params }))
  const { entrants, cells, isAgreed } = await agree(participants, peers, first, bodies(first))
  const lanes = question.lanes ?? 1
  if (isAgreed) {
    const runners = [...entrants, await floorOf(participants, entrants[0], first, bodies(first))]
    const samples = runners.map(() => [])
    const share = Math.ceil(others.length / participants.options.rounds)
    for (let from = 0; from < others.length; from += share) {
      for (const [i, runner] of runners.entries()) samples[i].push(await loadOnce(runner, others.slice(from, from + share), { lanes }))
    }
    for (const [i, runner] of runners.entries()) cells[runner.name] = summary(samples[i])
  }
  participants.report.rates({ group: question.group, name: question.name, lanes, cells })
}

/** Processes that have served many requests; before that V8 has not optimised them. @type {WeakSet<object>} */
const warm = new WeakSet()

export function bodyOf({ method, params }, id = 1) {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** Requests per node: block hashes differ. */
function bodies({ method, params }) {
  if (typeof params !== 'function') {
    const body = bodyOf({ method, params })
    return () => body
  }
  return (peer) => bodyOf({ method, params: params(peer === FLOOR ? 'ours' : peer) })
}

async function floorOf(participants, ours, question, bodyFor) {
  return question.isJsonFloor === true ? participants.floor.json : participants.floor.keep(await ask(ours, bodyFor('ours')))
}

/** Nodes that have the method must return equal results. */
async function agree(participants, peers, question, bodyFor) {
  const { group, name, same = (result) => result, wrong = () => null } = question
  participants.say(`${group}: ${name}`)
  /** @type {Cells} */
  const cells = {}
  const entrants = []
  const answers = []
  for (const peer of peers) {
    const { result, error } = JSON.parse(await ask(peer, bodyFor(peer.name)))
    if (error !== undefined) {
      cells[peer.name] = { missing: NO_METHOD.test(JSON.stringify(error)) ? 'no such method' : 'refused' }
      if (peer.name === 'ours') participants.report.complain(`${group}, ${name}: ours refuses it: ${JSON.stringify(error).slice(0, 300)}`)
      continue
    }
    const complaint = wrong(result)
    if (complaint !== null) participants.report.complain(`${group}, ${name}: ${peer.name}: ${complaint}`)
    entrants.push(peer)
    answers.push(same(result))
  }
  const other = answers.findIndex((answer) => !isDeepStrictEqual(answer, answers[0]))
  if (other >= 0) {
    const where = difference(answers[0], answers[other])
    participants.report.complain(`${group}, ${name}: ${entrants[other].name} returns another response, so the row was not timed; ${where}`)
  }
  return { entrants, cells, isAgreed: other < 0 && entrants[0]?.name === 'ours' }
}

const NO_METHOD = /not supported|not found|does not exist|-32601/i

function difference(ours, theirs) {
  const [a, b] = [ours, theirs].map((answer) => JSON.stringify(answer) ?? 'nothing')
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return `ours …${a.slice(Math.max(0, at - 80), at + 80)}…, theirs …${b.slice(Math.max(0, at - 80), at + 80)}…`
}

/** Over all rounds: medians, and total CPU, which the system counts in steps of 10 ms. */
function summary(samples) {
  const requests = samples.reduce((sum, sample) => sum + sample.requests, 0)
  const middle = (/** @type {string} */ participants) => median(samples.map((sample) => sample[participants]))
  return {
    requests,
    perSecond: middle('perSecond'),
    cpuUs: samples.reduce((sum, sample) => sum + sample.cpuUs * sample.requests, 0) / requests,
    p50Us: middle('p50Us'),
    p99Us: middle('p99Us'),
    minUs: Math.min(...samples.map(({ minUs }) => minUs)),
    loaderShare: middle('loaderShare'),
    bytes: middle('bytes'),
  }
}
