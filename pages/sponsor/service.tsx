import type { ComponentChildren } from 'preact'
import { Copy, Raw, Row, Section } from '../wallet/parts.tsx'

/** Returns the URLs of the paymaster service; the port of this page serves http and https. */
export function serviceUrls(host: string): { readonly http: string; readonly https: string } {
  return { http: `http://${host}/paymaster`, https: `https://${host}/paymaster/rpc` }
}

/** The URLs of the service and its certificate authority. */
export function Service() {
  const { host } = location
  const { http, https } = serviceUrls(host)
  const fetched = `curl -so ca.pem http://${host}/ca.pem`
  return (
    <div class="panel" data-testid="service">
      <Section title="In an app" note="ERC-7677">
        <dl class="rows">
          <Row name="For wallets" id="url-https">
            <Whole text={https} what="url for wallets" />
          </Row>
          <Row name="For viem" id="url-http">
            <Whole text={http} what="url for viem" />
          </Row>
        </dl>
        <p class="soft trust">
          Wallets require https. The certificate authority was created on this machine and is valid for this machine only:{' '}
          <a href="/ca.pem" download="ca.pem" data-testid="ca">
            ca.pem
          </a>
          . The wallet of this node trusts it; other clients need it in their trust store.
        </p>
        <Command name="Node" text={`${fetched} && export NODE_EXTRA_CA_CERTS=$PWD/ca.pem`} />
        <Command name="Chromium" text={`${fetched} && certutil -d sql:$HOME/.pki/nssdb -A -t C,, -n pocketchain -i ca.pem`} />
      </Section>
    </div>
  )
}

function Command({ name, text }: { name: string; text: string }) {
  return (
    <CopyableText name={`So that ${name} trusts it`} text={text}>
      <span class="soft">{name}</span>
    </CopyableText>
  )
}

/** Lines with a copy button. */
export function CopyableText({ name, text, children }: { name: string; text: string; children?: ComponentChildren }) {
  return (
    <div class="pasted">
      <p class="line">
        {children ?? <span class="soft">{name}</span>}
        <Copy text={text} shown="copy" what={`the lines: ${name}`} />
      </p>
      <Raw name={name} text={text} />
    </div>
  )
}

function Whole({ text, what }: { text: string; what: string }) {
  return <Copy text={text} shown={text} what={what} />
}
