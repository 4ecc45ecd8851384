import type { SignQuestion, TokenLabel } from '../../src/wallet/question.ts'
import { Approval } from './approval.tsx'
import type { QuestionProps } from './approval.tsx'
import { IDS, grouped, lineCount, textSegments, sizeOf, visible } from './format.ts'
import { describePermitValue } from './permit.ts'
import type { PermitContext, PermitMeaning } from './permit.ts'
import { AddressText, Context, Copy, Collapsible, Raw, Row, Section } from './parts.tsx'

export function Sign(props: QuestionProps<SignQuestion>) {
  const { account, chain, scheme, message, text, typedData, tokens, digest, createdAt } = props.question
  return (
    <Approval {...props} request={scheme === 'personal_sign' ? 'asks you to sign a message' : 'asks you to sign data'} verb="Sign">
      <Context account={account} chain={chain} />
      {scheme === 'personal_sign' ? (
        <Message message={message ?? '0x'} text={text} />
      ) : (
        <Typed data={typedData} tokens={tokens} askedAtMs={createdAt} />
      )}
      <dl class="rows">
        <Row name="Digest">
          <Copy text={digest} what="digest" />
        </Row>
      </dl>
    </Approval>
  )
}

function Message({ message, text }: { message: string; text: string | null }) {
  const size = `${grouped(String(sizeOf(message)))} bytes`
  if (text === null) {
    return (
      <Section title="Message" note={`${size}, not text`}>
        <Raw text={message} name="Message" />
      </Section>
    )
  }
  const lines = lineCount(text)
  return (
    <Section title="Message" note={lines > MANY_LINES ? `${size}, ${grouped(String(lines))} lines` : size}>
      <pre class="message" tabIndex={0} role="group" aria-label="Message">
        <ForeignText text={text} />
      </pre>
      <Collapsible title="As bytes">
        <Raw text={message} name="Message as bytes" />
      </Collapsible>
    </Section>
  )
}

/** More lines than the box shows without scrolling. */
const MANY_LINES = 15

/** Text of the app, with placeholders for gaps that would hide what follows. */
function ForeignText({ text }: { text: string }) {
  return (
    <>
      {textSegments(text).map(({ kind, text: part }, i) => (
        <span key={i} class={kind === 'gap' ? 'gap' : undefined}>
          {part}
        </span>
      ))}
    </>
  )
}

interface TypedProps {
  readonly data: unknown
  /** tokens of a permit */
  readonly tokens: readonly TokenLabel[] | undefined
  /** Unix time of the question, against which deadlines are compared */
  readonly askedAtMs: number
}

/** EIP-712 data as a form of named fields. */
export function Typed({ data, tokens = [], askedAtMs }: TypedProps) {
  const { types, primaryType, domain, message } = asTypedData(data)
  const context = { nowMs: askedAtMs, verifier: domain['verifyingContract'], tokens }
  return (
    <>
      <Section title={visible(primaryType)}>
        <Fields value={message} type={primaryType} types={types} context={context} />
      </Section>
      <Section title="Valid for" note="the domain">
        <Fields value={domain} type="EIP712Domain" types={types} context={context} />
      </Section>
    </>
  )
}

interface FieldsProps {
  readonly value: unknown
  readonly type: string
  readonly types: Types
  readonly context: PermitContext
  /** of a number in a permit */
  readonly meaning?: PermitMeaning | null
  /** a number without commas */
  readonly isId?: boolean
}

function Fields({ value, type, types, context, meaning = null, isId = false }: FieldsProps) {
  if (Array.isArray(value)) {
    const element = type.replace(/\[\d*\]$/, '')
    if (value.length === 0) return <span class="soft">none</span>
    return (
      <ol class="items">
        {value.map((item: unknown, i) => (
          <li key={i}>
            <Fields value={item} type={element} types={types} context={context} />
          </li>
        ))}
      </ol>
    )
  }
  if (isStruct(value)) {
    return (
      <dl class="rows fields">
        {Object.entries(value).map(([name, field]) => (
          <Row key={name} name={<Name text={visible(name)} />}>
            <Fields
              value={field}
              isId={IDS.has(name)}
              type={typeOf(name, type, types)}
              types={types}
              context={context}
              meaning={describePermitValue(type, name, value, context)}
            />
          </Row>
        ))}
      </dl>
    )
  }
  if (meaning === null) return <Leaf value={value} type={type} isId={isId} />
  const { text, unit } = meaning
  if (text === 'unlimited') return <strong title={String(value)}>{text}</strong>
  return (
    <>
      {text !== null && (
        <>
          <strong>
            <bdi>{text}</bdi>
          </strong>{' '}
        </>
      )}
      <span class={text === null ? undefined : 'soft'}>
        <Leaf value={value} type={type} isId={unit === null} />
      </span>
      {unit !== null && <span class="soft"> {unit}</span>}
    </>
  )
}

function isStruct(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A line may end where a word of `verifyingContract` begins. */
function Name({ text }: { text: string }) {
  return <>{text.split(/(?<=[a-z])(?=[A-Z])/).map((part, i) => (i === 0 ? part : [<wbr />, part]))}</>
}

function Leaf({ value, type, isId }: { value: unknown; type: string; isId: boolean }) {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (type === 'address' && /^0x[0-9a-fA-F]{40}$/.test(text)) return <AddressText address={text} />
  if (type.startsWith('bytes')) return <code class="hex">{visible(text)}</code>
  if (/^u?int/.test(type)) return <span class="amount">{!isId && /^-?\d+$/.test(text) ? grouped(text) : visible(text)}</span>
  return (
    <span class="text">
      <ForeignText text={text} />
    </span>
  )
}

type Types = Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>

/** Falls back to DOMAIN_TYPES, since some apps omit EIP712Domain. */
function typeOf(name: string, struct: string, types: Types): string {
  const fields = Object.hasOwn(types, struct) ? types[struct] : undefined
  const declared = fields?.find((field) => field.name === name)?.type
  return declared ?? (struct === 'EIP712Domain' ? DOMAIN_TYPES.get(name) : undefined) ?? ''
}

const DOMAIN_TYPES: ReadonlyMap<string, string> = new Map([
  ['verifyingContract', 'address'],
  ['salt', 'bytes32'],
  ['chainId', 'uint256'],
])

/** The wallet has checked the shape; absent parts are shown empty. */
function asTypedData(data: unknown): {
  types: Types
  primaryType: string
  domain: Readonly<Record<string, unknown>>
  message: unknown
} {
  const given = typeof data === 'object' && data !== null ? (data as Partial<ReturnType<typeof asTypedData>>) : {}
  const { types = {}, primaryType = '', domain = {}, message = {} } = given
  return { types, primaryType, domain, message }
}
