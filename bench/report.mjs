// Results: tables for the terminal and as markdown, and the goals.
import { FLOOR } from './participants.mjs'
import { figure, markdown, ratio, table } from './table.mjs'

/** @typedef {{ group: string, name: string, lanes: number, cells: import('./compare.mjs').Cells }} RateRow */
/** @typedef {{ group: string, name: string, unit: string, better: 'more' | 'less', cells: Record<string, number> }} ValueRow */
/** @typedef {{ group: string, name: string, label: string, p50Ms: number, p99Ms: number, seen: number, sent: number }} LatencyRow */
/** @typedef {{ title: string, titles: readonly string[], rows: readonly (readonly string[])[] }} Table */

export class Report {
  /** @type {RateRow[]} */
  rateRows = []
  /** @type {ValueRow[]} */
  valueRows = []
  /** @type {LatencyRow[]} */
  latencyRows = []
  /** @type {string[]} */
  notes = []
  /** problems: differing responses, wrong counts @type {string[]} */
  complaints = []
  #names

  constructor(/** @type {readonly string[]} ours first */ names) {
    this.#names = names
  }

  rates(/** @type {RateRow} */ row) {
    this.rateRows.push(row)
  }

  value(/** @type {ValueRow} */ row) {
    this.valueRows.push(row)
  }

  latency(/** @type {LatencyRow} */ row) {
    this.latencyRows.push(row)
  }

  note(/** @type {string} */ line) {
    this.notes.push(line)
  }

  complain(/** @type {string} */ line) {
    this.complaints.push(line)
    process.stderr.write(`\nbench: ${line}\n`)
  }

  /** For a terminal. */
  text() {
    return this.#tables()
      .map(({ title, titles, rows }) => `${title}\n${table(titles, rows)}`)
      .join('\n\n')
  }

  markdown() {
    return this.#tables()
      .map(({ title, titles, rows }) => `## ${title}\n\n${markdown(titles, rows)}`)
      .join('\n\n')
  }

  /** @returns {Table[]} */
  #tables() {
    const groups = [...new Set(this.rateRows.map(({ group }) => group))]
    return [
      ...groups.map((group) => this.#rateTable(group)),
      ...(this.latencyRows.length > 0 ? [this.#latencyTable()] : []),
      ...(this.valueRows.length > 0 ? [this.#valueTable()] : []),
      ...(this.#goals().length > 0 ? [this.#goalTable()] : []),
    ]
  }

  #rateTable(group) {
    const others = [...this.#names.slice(1), FLOOR]
    const titles = [
      'case',
      'lanes',
      'response',
      'ours/s',
      'p50 ms',
      'CPU us',
      ...others.flatMap((name) => [`${name}/s`, 'CPU us', 'rate', 'CPU']),
    ]
    const rows = this.rateRows
      .filter((row) => row.group === group)
      .map(({ name, lanes, cells }) => {
        const ours = cells['ours'] ?? {}
        return [
          name,
          String(lanes),
          size(ours.bytes),
          ...[figure(ours.perSecond), figure(ours.p50Us / 1_000), figure(ours.cpuUs)],
          ...others.flatMap((other) => versus(ours, cells[other])),
        ]
      })
    return {
      title: `${group}: requests per second, server CPU per request, and the factor by which ours is better (rate, CPU)`,
      titles,
      rows,
    }
  }

  #latencyTable() {
    const rows = this.latencyRows.map(({ group, name, label, p50Ms, p99Ms, seen, sent }) => [
      `${group}: ${name}`,
      label,
      figure(p50Ms),
      figure(p99Ms),
      seen === sent ? 'all' : `${seen} of ${sent}`,
    ])
    return { title: 'Latency in milliseconds', titles: ['case', 'node', 'p50', 'p99', 'received'], rows }
  }

  #valueTable() {
    const titles = ['case', 'unit', ...this.#names, ...this.#names.slice(1).map((name) => `better than ${name}`)]
    const sorted = this.valueRows.toSorted((a, b) => (a.group === b.group ? 0 : a.group < b.group ? -1 : 1))
    const rows = sorted.map(({ group, name, unit, better, cells }) => [
      `${group}: ${name}`,
      unit,
      ...this.#names.map((peer) => (cells[peer] === Infinity ? 'never' : figure(cells[peer]))),
      ...this.#names.slice(1).map((peer) => (better === 'more' ? ratio(cells['ours'], cells[peer]) : ratio(cells[peer], cells['ours']))),
    ])
    return { title: 'Time, memory, disk', titles, rows }
  }

  #goalTable() {
    const rows = this.#goals().map(({ goal, measured, isMet }) => [goal, measured, isMet ? 'met' : 'NOT MET'])
    return { title: 'Goals', titles: ['goal', 'measured', ''], rows }
  }

  /** Goals whose rows were measured. @returns {{ goal: string, measured: string, isMet: boolean }[]} */
  #goals() {
    return GOALS.flatMap(({ goal, of, unit, least, most }) => {
      const found = of(this)
      if (!Number.isFinite(found)) return []
      const isMet = least === undefined ? found <= most : found >= least
      return [
        {
          goal: `${goal}: ${least === undefined ? `at most ${most.toLocaleString('en-US')}` : `at least ${least.toLocaleString('en-US')}`} ${unit}`,
          measured: `${figure(found)} ${unit}`,
          isMet,
        },
      ]
    })
  }

  get goals() {
    return this.#goals()
  }

  /** Ratio of ours in a row at one connection; NaN if not measured. */
  times(/** @type {RegExp} */ name, /** @type {string} */ other, lanes = 1) {
    const found = this.rateRows.filter((row) => name.test(row.name) && row.lanes === lanes)
    const times = found.map(({ cells }) => (cells['ours']?.perSecond ?? NaN) / (cells[other]?.perSecond ?? NaN))
    return times.length === 0 ? NaN : Math.min(...times)
  }

  /** A value of ours or of a peer. */
  valueOf(/** @type {RegExp} */ name, peer = 'ours') {
    return this.valueRows.find((row) => name.test(`${row.group}: ${row.name} (${row.unit})`))?.cells[peer] ?? NaN
  }
}

const NARROW = 'by topic, |2 hits by address and topic, |unknown address, '

const HTTP_SCENARIO = /^scenario: .* from the spawn \(s/
const FETCH_SCENARIO = /^scenario: .* by fetch \(s/
const IN_PROCESS_SCENARIO = /^scenario: .* in process \(s/

/** Goals, as rates. */
const GOALS = [
  {
    goal: 'eth_chainId, CPU relative to a bare JSON server',
    of: (report) => cpuShare(report, /^eth_chainId$/, 1),
    unit: 'times',
    most: 1.3,
  },
  { goal: 'balanceOf, 1 lane', of: (report) => report.times(/balanceOf/, 'anvil'), unit: 'times anvil', least: 1.5 },
  { goal: 'balanceOf, 64 lanes', of: (report) => report.times(/balanceOf/, 'anvil', 64), unit: 'times anvil', least: 1 },
  {
    goal: 'a few hits in 8,000 blocks (lowest of three)',
    of: (report) => report.times(few('8,000'), 'anvil'),
    unit: 'times anvil',
    least: 150,
  },
  {
    goal: 'a few hits in 8,000 blocks (lowest of three)',
    of: (report) => report.times(few('8,000'), 'hardhat'),
    unit: 'times Hardhat',
    least: 50,
  },
  { goal: 'a few hits in 80,000 blocks (worst of three)', of: growth, unit: 'times the time in 8,000', most: 1.3 },
  { goal: '20,000 hits', of: (report) => report.times(/^20,000 hits/, 'anvil'), unit: 'times anvil', least: 8 },
  {
    goal: '20,000 hits, time relative to the bare server',
    of: (report) => 1 / report.times(/^20,000 hits/, FLOOR),
    unit: 'times',
    most: 2,
  },
  { goal: 'receipts of 500', of: (report) => report.times(/^getBlockReceipts, 500 .*s$/, 'anvil'), unit: 'times anvil', least: 15 },
  {
    goal: 'receipts of 500, each once',
    of: (report) => report.times(/^getBlockReceipts, 500 .*once$/, 'anvil'),
    unit: 'times anvil',
    least: 15,
  },
  { goal: 'block of 500', of: (report) => report.times(/^getBlockByNumber, 500 .*s$/, 'anvil'), unit: 'times anvil', least: 20 },
  {
    goal: 'block of 500, each once',
    of: (report) => report.times(/^getBlockByNumber, 500 .*once$/, 'anvil'),
    unit: 'times anvil',
    least: 20,
  },
  {
    goal: 'receipts of 500, time relative to the bare server',
    of: (report) => 1 / report.times(/^getBlockReceipts, 500 .*s$/, FLOOR),
    unit: 'times',
    most: 1.5,
  },
  {
    goal: 'receipts of 500, each once, time relative to the bare server',
    of: (report) => 1 / report.times(/^getBlockReceipts, 500 .*once$/, FLOOR),
    unit: 'times',
    most: 1.5,
  },
  {
    goal: 'block of 500, time relative to the bare server',
    of: (report) => 1 / report.times(/^getBlockByNumber, 500 .*s$/, FLOOR),
    unit: 'times',
    most: 1.5,
  },
  {
    goal: 'block of 500, each once, time relative to the bare server',
    of: (report) => 1 / report.times(/^getBlockByNumber, 500 .*once$/, FLOOR),
    unit: 'times',
    most: 1.5,
  },
  {
    goal: 'send to receipt at 500 tx/s, p99',
    of: ({ latencyRows }) => latencyRows.find(({ label }) => label.startsWith('ours, flash'))?.p99Ms ?? NaN,
    unit: 'ms',
    most: 250,
  },
  { goal: 'ETH transfers to inclusion', of: (report) => timesValue(report, /ETH transfers, held.*tx\/s/), unit: 'times anvil', least: 1.2 },
  {
    goal: 'ERC-20 transfers to inclusion',
    of: (report) => timesValue(report, /ERC-20 transfers, held.*tx\/s/),
    unit: 'times anvil',
    least: 1.2,
  },
  { goal: 'anvil_mine of 100,000', of: (report) => report.valueOf(/^mining: anvil_mine of 100,000/), unit: 's', most: 10 },
  { goal: 'start to first response', of: (report) => report.valueOf(/^start: spawn/), unit: 'ms', most: 500 },
  {
    goal: 'start to first response',
    of: (report) => report.valueOf(/^start: spawn/) / report.valueOf(/^start: spawn/, 'anvil'),
    unit: "times anvil's",
    most: 1,
  },
  {
    goal: 'captured test run from cold',
    of: (report) => timesFasterPeer(report, HTTP_SCENARIO),
    unit: "times the faster peer's",
    most: 1,
  },
  {
    goal: 'captured test run from cold, by fetch',
    of: (report) => timesFasterPeer(report, FETCH_SCENARIO),
    unit: "times the faster peer's",
    most: 1,
  },
  {
    goal: 'captured test run from cold, in process',
    of: (report) => report.valueOf(IN_PROCESS_SCENARIO) / report.valueOf(IN_PROCESS_SCENARIO, 'hardhat'),
    unit: "times Hardhat's",
    most: 0.8,
  },
  { goal: 'fork: start', of: (report) => report.valueOf(/^fork: start \(requests/), unit: 'requests', most: 3 },
  { goal: 'fork: start', of: (report) => report.valueOf(/^fork: start \(ms/), unit: 'ms', most: 600 },
  {
    goal: 'fork: cold ERC-20 transfer',
    of: (report) => report.valueOf(/^fork: cold ERC-20 transfer \(requests/),
    unit: 'requests',
    most: 4,
  },
  { goal: 'fork: call of 100 slots', of: (report) => report.valueOf(/^fork: call of 100 slots \(requests/), unit: 'requests', most: 3 },
  {
    goal: 'fork: call of 100 slots',
    of: (report) => report.valueOf(/^fork: call of 100 slots \(ms/, 'anvil') / report.valueOf(/^fork: call of 100 slots \(ms/),
    unit: 'times anvil',
    least: 20,
  },
  { goal: 'fork: empty block', of: (report) => report.valueOf(/^fork: empty block \(requests/), unit: 'requests', most: 0 },
  { goal: 'fork: call of 100 slots, limited upstream', of: (report) => report.valueOf(/^fork: .*429/), unit: 'ms', most: 1_000 },
  { goal: 'fork: gap of flashblocks, p99', of: (report) => report.valueOf(/^fork: gap/), unit: 'ms', most: 210 },
  { goal: 'import with the index, per core', of: (report) => report.valueOf(/^store: import.*core/), unit: 'logs/s', least: 250_000 },
  { goal: 'ten planted logs, inside the process', of: (report) => report.valueOf(/^store: ten planted.*\(ms\)/), unit: 'ms', most: 1 },
]

function few(/** @type {string} */ blocks) {
  return new RegExp(`^(10 hits )?(${NARROW})${blocks} blocks$`)
}

function growth(report) {
  const at = (blocks) =>
    report.rateRows.filter(({ name, lanes }) => few(blocks).test(name) && lanes === 1).map(({ cells }) => cells['ours']?.p50Us ?? NaN)
  const [short, long] = [at('8,000'), at('80,000')]
  return long.length === 0 ? NaN : Math.max(...long.map((us, i) => us / short[i]))
}

function cpuShare({ rateRows }, name, lanes) {
  const cells = rateRows.find((row) => name.test(row.name) && row.lanes === lanes)?.cells
  return (cells?.['ours']?.cpuUs ?? NaN) / (cells?.[FLOOR]?.cpuUs ?? NaN)
}

function timesFasterPeer(report, name) {
  const peers = ['anvil', 'hardhat'].map((peer) => report.valueOf(name, peer)).filter((time) => time > 0)
  return report.valueOf(name) / Math.min(...peers)
}

function timesValue(report, name) {
  return report.valueOf(name) / report.valueOf(name, 'anvil')
}

function versus(ours, theirs) {
  if (theirs === undefined) return ['-', '-', '-', '-']
  if ('missing' in theirs) return [theirs.missing, '-', '-', '-']
  return [figure(theirs.perSecond), figure(theirs.cpuUs), ratio(ours.perSecond, theirs.perSecond), ratio(theirs.cpuUs, ours.cpuUs)]
}

function size(bytes) {
  if (bytes === undefined) return '-'
  if (bytes >= 1e6) return `${(bytes / 1e6).toFixed(1)} MB`
  return bytes >= 1e3 ? `${(bytes / 1e3).toFixed(1)} kB` : `${Math.round(bytes)} B`
}
