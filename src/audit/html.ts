import type { DurationSummary } from './durations.ts'
import type { AuditReport } from './report.ts'
import {
  PERCENTILES,
  blocksText,
  cells,
  durationRows,
  listedText,
  outcomeRows,
  placeText,
  secondsText,
  shortHash,
  timeText,
  verdictText,
} from './text.ts'

/** Returns the report as one page without scripts and without references to other files. */
export function reportHtml(report: AuditReport): string {
  const { endpoint, feed, durations, heads, gaps, problems, broken } = report
  const title = `Audit of ${endpoint.rpc}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(title)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<header>
<h1>${escaped(title)}</h1>
<p class="soft">${escaped(`Chain ${endpoint.chainId}${endpoint.client === '' ? '' : `, ${endpoint.client}`}`)}</p>
<p class="soft">${escaped(`${new Date(report.startedMs).toISOString().slice(0, 19)}Z, watched for ${secondsText(report.endedMs - report.startedMs)}${blocksText(report)}`)}</p>
</header>
${feed.kind === 'heads' ? '' : totals(report)}
<section>
<h2>Feed</h2>
<p>${escaped(`${feed.sentence}${endpoint.promises === null ? '' : ` at ${endpoint.promises}`}`)}</p>
<ul>${feed.limits.map((limit) => `<li>${escaped(limit)}</li>`).join('')}</ul>
</section>
${feed.kind === 'heads' ? '' : outcomes(report)}
<section>
<h2>Durations</h2>
${table(
  ['', ...PERCENTILES],
  durationRows(durations).map(([name, summary]) => [name, ...cells(summary)]),
)}
${durationRows(durations)
  .map(([name, summary]) => histogram(name, summary))
  .join('\n')}
</section>
<section>
<h2>Sealed chain</h2>
<p>${escaped(`${heads.count} heads, ${heads.reorgCount} reorganisations`)}</p>
${
  heads.reorgs.length === 0
    ? ''
    : table(
        ['Block', 'Depth', 'Time', 'Hash', 'Replaced by'],
        heads.reorgs.map(({ number, depth, atMs, from, to }) => [
          String(number),
          String(depth),
          timeText(atMs),
          shortHash(from),
          to === null ? '–' : shortHash(to),
        ]),
      )
}
</section>
${
  gaps.count === 0
    ? ''
    : `<section>
<h2>Without connection</h2>
<p>${escaped(`${gaps.count} times, ${secondsText(gaps.totalMs)}; promises of blocks that overlap these times are unobserved`)}</p>
${table(
  ['Feed', 'From', 'To', 'Reason'],
  gaps.list.map(({ source, fromMs, toMs, reason }) => [source, timeText(fromMs), toMs === null ? 'the end' : timeText(toMs), reason]),
)}
</section>`
}
${
  problems.length === 0
    ? ''
    : `<section>
<h2>Irregularities</h2>
${table(
  ['Count', 'What', 'First one'],
  problems.map(({ kind, count, example }) => [String(count), kind, example]),
)}
</section>`
}
${
  broken.length === 0
    ? ''
    : `<section>
<h2>${escaped(`Promises that were not kept${listedText(report)}`)}</h2>
${table(
  ['Transaction', 'Place', 'Promised', 'Outcome'],
  broken.map((promise) => [promise.hash, placeText(promise), timeText(promise.promisedMs), verdictText(promise)]),
)}
</section>`
}
</main>
</body>
</html>
`
}

function totals({ totals: { kept, changed, retracted, unobserved, open } }: AuditReport): string {
  const items = Object.entries({ kept, changed, retracted, unobserved, open })
  return `<dl class="totals">${items.map(([name, count]) => `<div><dt>${name}</dt><dd class="${count === 0 ? '' : name}">${count}</dd></div>`).join('')}</dl>`
}

function outcomes(report: AuditReport): string {
  return `<section>
<h2>Outcomes</h2>
${table(['', ''], outcomeRows(report), true)}
</section>`
}

/** Cells are untrusted text. On narrow screens each row is a card, in which the names of the columns precede the values. */
function table(names: readonly string[], rows: readonly (readonly string[])[], isPlain = false): string {
  const cell = (value: string, i: number) => `<td data-label="${escaped(names[i] ?? '')}">${escaped(value)}</td>`
  const head = isPlain ? '' : `<thead><tr>${names.map((name) => `<th scope="col">${escaped(name)}</th>`).join('')}</tr></thead>`
  return `<table>${head}<tbody>${rows.map((values) => `<tr>${values.map(cell).join('')}</tr>`).join('')}</tbody></table>`
}

const BAR_WIDTH = 40
const BAR_GAP = 6
const CHART_HEIGHT = 120

/** Bars of equal width, one per range; each has its number above and its upper bound below. */
function histogram(name: string, { count, histogram: ranges }: DurationSummary): string {
  if (count === 0) return ''
  const maxCount = Math.max(...ranges.map((range) => range.count))
  const width = ranges.length * (BAR_WIDTH + BAR_GAP)
  const bars = ranges.map((range, i) => {
    const height = range.count === 0 ? 0 : Math.max(2, (CHART_HEIGHT * range.count) / maxCount)
    const x = i * (BAR_WIDTH + BAR_GAP)
    const middle = x + BAR_WIDTH / 2
    const value = range.count === 0 ? '' : `<text class="value" x="${middle}" y="${CHART_HEIGHT + 12 - height}">${range.count}</text>`
    return `<rect x="${x}" y="${CHART_HEIGHT + 16 - height}" width="${BAR_WIDTH}" height="${height}" rx="3"/>${value}<text x="${middle}" y="${CHART_HEIGHT + 32}">${boundText(range.upToMs)}</text>`
  })
  const label = `${name}: ${count} durations, by upper bound`
  return `<figure><figcaption>${escaped(`${name}, by upper bound`)}</figcaption><div class="chart"><svg viewBox="0 0 ${width} ${CHART_HEIGHT + 40}" role="img" aria-label="${escaped(label)}">${bars.join('')}</svg></div></figure>`
}

function boundText(upToMs: number | null): string {
  if (upToMs === null) return 'more'
  return upToMs < 1_000 ? `${upToMs} ms` : `${upToMs / 1_000} s`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}

/** Colours and measures of the pages of the node (pages/wallet/style.css, pages/sponsor/style.css). */
const STYLE = `
:root{color-scheme:light dark;--paper:#f3f1ea;--slip:#fdfcf8;--ink:#1d1c19;--soft:#5e594f;--line:#dfdacd;--strong-line:#b9b2a1;--accent:#1f4d3f;--in:#17603f;--danger:#96231a;--caution:#6d4a00;--shadow:0 1px 2px rgb(29 28 25/6%),0 12px 32px -12px rgb(29 28 25/16%);--mono:ui-monospace,'SF Mono','Cascadia Mono','Liberation Mono',Menlo,monospace}
@media (prefers-color-scheme:dark){:root{--paper:#131311;--slip:#1c1b19;--ink:#ece9e1;--soft:#aaa597;--line:#33312c;--strong-line:#57534a;--accent:#a3d3bd;--in:#93d6b2;--danger:#f4a195;--caution:#e8c684;--shadow:0 0 0 1px #2a2825,0 16px 40px -16px rgb(0 0 0/70%)}}
*{box-sizing:border-box}
html{background:var(--paper);color:var(--ink);font:15px/1.5 -apple-system,'Segoe UI','Liberation Sans','Helvetica Neue',Arial,sans-serif;font-variant-numeric:tabular-nums;text-size-adjust:100%}
body,h1,h2,p,ul,dl,dd,figure{margin:0;padding:0}
main{display:grid;grid-template-columns:minmax(0,1fr);gap:16px;max-width:1120px;margin:0 auto;padding:24px 16px 48px}
header{padding:8px 4px}
h1{font-size:26px;font-weight:650;line-height:1.2;letter-spacing:-.02em;overflow-wrap:anywhere}
h2{margin-bottom:12px;font-size:17px;font-weight:650;letter-spacing:-.01em}
p,li{overflow-wrap:anywhere}
ul{margin-top:6px;padding-left:20px;color:var(--soft);font-size:14px}
.soft,th,dt,figcaption{color:var(--soft)}
section,.totals{min-width:0;padding:20px 24px;border-radius:14px;background:var(--slip);box-shadow:var(--shadow)}
.totals{display:flex;flex-wrap:wrap;gap:8px 48px}
dt{font-size:13px}
dd{font-size:22px;font-weight:600;letter-spacing:-.01em}
.kept{color:var(--in)}.changed,.retracted{color:var(--danger)}.unobserved,.open{color:var(--caution)}
table{width:100%;border-collapse:collapse;font-size:14px}
th{padding:6px 12px 6px 0;border-bottom:1px solid var(--strong-line);font-size:13px;font-weight:400;text-align:left}
td{padding:8px 12px 8px 0;border-bottom:1px solid var(--line);vertical-align:baseline;overflow-wrap:anywhere}
tr:last-child td{border-bottom:0}
td[data-label='Promised'],td[data-label='Time'],td[data-label='From'],td[data-label='To']{white-space:nowrap}
td[data-label='Transaction']{font:13px/1.5 var(--mono)}
figure{margin-top:20px}
figcaption{margin-bottom:4px;font-size:13px}
.chart{overflow-x:auto}
svg{display:block;width:100%;min-width:560px;max-width:760px;height:auto}
rect{fill:var(--accent)}
text{fill:var(--soft);font-size:11px;text-anchor:middle}
.value{fill:var(--ink)}
@media (width<700px){
main{gap:10px;padding:0 0 32px}
header{padding:16px}
section,.totals{padding:16px}
.totals{display:grid;grid-template-columns:1fr 1fr}
table,tbody,tr,td{display:block}
thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
tr{padding:8px 0;border-top:1px solid var(--line)}
tr:first-child{border-top:0}
td{display:grid;grid-template-columns:92px minmax(0,1fr);gap:12px;padding:2px 0;border:0}
td::before{content:attr(data-label) / '';color:var(--soft);font-family:inherit}
td[data-label='']{display:block}
td[data-label='']:first-child{font-weight:550}
}
`
