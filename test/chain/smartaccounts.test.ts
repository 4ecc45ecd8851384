// The contracts of --with-accounts against published hashes, and against the published creation code that a chain without the option executes.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createPocketchain } from 'pocketchain'
import type { Pocketchain, PocketchainOptions } from 'pocketchain'
import { type Hex, concat, encodeAbiParameters, getContractAddress, getCreate2Address, keccak256, zeroHash } from 'viem'
import { entryPoint06Address, entryPoint07Address, entryPoint08Address } from 'viem/account-abstraction'
import simpleAccountFactory06 from 'aa06/artifacts/SimpleAccountFactory.json' with { type: 'json' }
import simpleAccountFactory07 from 'aa07/artifacts/SimpleAccountFactory.json' with { type: 'json' }
import simpleAccountFactory08 from 'aa08/artifacts/SimpleAccountFactory.json' with { type: 'json' }
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const ROOT = new URL('../..', import.meta.url)
const ARTIFACT = new URL('src/chain/genesis/smartaccounts.json', ROOT)
// The shape is the build script's; test/chain/predeploys.test.ts proves that the file is its output.
const { accounts } = JSON.parse(readFileSync(ARTIFACT, 'utf8')) as {
  readonly accounts: readonly { readonly address: Hex; readonly codeHash: Hex }[]
}

const CREATE2_DEPLOYER = '0x4e59b44847b379578588920ca78fbf26c0b4956c'
const SAFE_SINGLETON_FACTORY = '0x914d7fec6aac8cd542e72bca78b30650d45643d7'

/** All are deployed with salt 0; the addresses come from @safe-global/safe-deployments, @safe-global/safe-modules-deployments and permissionless. */
const DEPLOYMENTS: readonly (readonly [address: Hex, deployer: Hex, initCode: Hex])[] = [
  ['0x41675C099F32341bf84BFc5382aF534df5C7461a', SAFE_SINGLETON_FACTORY, vendored('safe-1.4.1')],
  ['0x29fcB43b46531BcA003ddC8FCB67FFE91900C762', SAFE_SINGLETON_FACTORY, vendored('safe-l2-1.4.1')],
  ['0x4e1DCf7AD4e460CfD30791CCC4F9c8a4f820ec67', SAFE_SINGLETON_FACTORY, vendored('safe-proxy-factory-1.4.1')],
  ['0x38869bf66a61cF6bDB996A6aE40D5853Fd43B526', SAFE_SINGLETON_FACTORY, vendored('safe-multi-send-1.4.1')],
  ['0x9641d764fc13c8B624c04430C7356C1C7C8102e2', SAFE_SINGLETON_FACTORY, vendored('safe-multi-send-call-only-1.4.1')],
  ['0xfd0732Dc9E303f09fCEf3a7388Ad10A83459Ec99', SAFE_SINGLETON_FACTORY, vendored('safe-fallback-handler-1.4.1')],
  ['0x75cf11467937ce3F2f357CE24ffc3DBF8fD5c226', CREATE2_DEPLOYER, withAddress(vendored('safe-4337-module-0.3.0'), entryPoint07Address)],
  ['0x2dd68b007B46fBe91B9A7c3EDa5A7a1063cB5b47', CREATE2_DEPLOYER, vendored('safe-module-setup-0.3.0')],
  ['0x9406Cc6185a346906296840746125a0E44976454', CREATE2_DEPLOYER, withAddress(simpleAccountFactory06.bytecode, entryPoint06Address)],
  ['0x91E60e0613810449d098b0b5Ec8b51A0FE8c8985', CREATE2_DEPLOYER, withAddress(simpleAccountFactory07.bytecode, entryPoint07Address)],
  ['0x13E9ed32155810FDbd067D4522C492D6f68E5944', CREATE2_DEPLOYER, withAddress(simpleAccountFactory08.bytecode, entryPoint08Address)],
]
/** The contract that each factory of SimpleAccount creates. */
const IMPLEMENTATIONS = DEPLOYMENTS.slice(-3).map(([from]) => getContractAddress({ from, nonce: 1n }))
const ADDRESSES = [...DEPLOYMENTS.map(([address]) => address), ...IMPLEMENTATIONS].map((address) => address.toLowerCase())

describe('the contracts of --with-accounts', () => {
  let plain: Pocketchain
  let node: Pocketchain

  beforeAll(async () => {
    plain = await createPocketchain({ cadence: 'instant' })
    node = await createPocketchain({ cadence: 'instant', withAccounts: true })
  })

  afterAll(async () => {
    await plain.close()
    await node.close()
  })

  it('are those of this test', () => {
    expect(accounts.map(({ address }) => address).sort()).toEqual(ADDRESSES.toSorted())
  })

  // npm:@safe-global/safe-deployments@1.37.63, version 1.4.1, "canonical"
  it.each([
    ['0x41675c099f32341bf84bfc5382af534df5c7461a', '0x1fe2df852ba3299d6534ef416eefa406e56ced995bca886ab7a553e6d0c5e1c4'],
    ['0x29fcb43b46531bca003ddc8fcb67ffe91900c762', '0xb1f926978a0f44a2c0ec8fe822418ae969bd8c3f18d61e5103100339894f81ff'],
    ['0x4e1dcf7ad4e460cfd30791ccc4f9c8a4f820ec67', '0x50c3cdc4074750a7a974204a716c999edd37482f907608d960b2b025ee0b3317'],
    ['0x38869bf66a61cf6bdb996a6ae40d5853fd43b526', '0x0e4f7fc66550a322d1e7688e181b75e217e662a4f3f4d6a29b22bc61217c4b77'],
    ['0x9641d764fc13c8b624c04430c7356c1c7c8102e2', '0xecd5bd14a08c5d2122379900b2f272bdf107a7e92423c10dd5fe3254386c9939'],
    ['0xfd0732dc9e303f09fcef3a7388ad10a83459ec99', '0x7c6007a5d711cea8dfd5d91f5940ec29c7f200fe511eb1fc1397b367af3c42f9'],
  ])('include the published code at %s', async (address, hash) => {
    expect(keccak256(await codeAt(node, address))).toBe(hash)
  })

  it.each(DEPLOYMENTS)('have the address %s from deployer and creation code', (address, from, bytecode) => {
    expect(getCreate2Address({ from, salt: zeroHash, bytecode })).toBe(address)
  })

  it.each<[string, PocketchainOptions]>([
    ['a chain with another id', { chainId: 1_234 }],
    ['a chain of type l1', { chainType: 'l1' }],
    ['a chain without CREATE2 factories', { factories: false }],
  ])('are on %s', async (_, options) => {
    await using other = await createPocketchain({ cadence: 'manual', withAccounts: true, ...options })
    for (const address of ADDRESSES) expect(await accountAt(other, address)).toEqual(await accountAt(node, address))
  })

  it('are on a fork whose upstream lacks them', async () => {
    await using upstream = await createPocketchain({ cadence: 'manual' })
    const { url } = await upstream.listen({ port: 0 })
    await using fork = await createPocketchain({ cadence: 'manual', withAccounts: true, fork: { url, storageCaching: false } })
    for (const address of ADDRESSES) expect(await codeAt(fork, address)).toBe(await codeAt(node, address))
  })

  it.each([true, false])('stay as the chain began when a stored one continues with another option: %s', async (withAccounts) => {
    const data = mkdtempSync(join(tmpdir(), 'pocketchain-smart-accounts-'))
    try {
      const notes: string[] = []
      const begun = await createPocketchain({ cadence: 'manual', data, withAccounts })
      await begun.close()
      await using continued = await createPocketchain({
        cadence: 'manual',
        data,
        withAccounts: !withAccounts,
        onNote: (line) => notes.push(line),
      })
      const codes = await Promise.all(ADDRESSES.map((address) => codeAt(continued, address)))
      expect(codes.every((code) => (code !== '0x') === withAccounts)).toBe(true)
      expect(notes).toEqual([expect.stringContaining('with another --with-accounts: it keeps those')])
    } finally {
      rmSync(data, { recursive: true, force: true })
    }
  })

  it('are what the creation code deploys on a chain without them', async () => {
    const [from] = (await plain.request({ method: 'eth_accounts' })) as readonly string[]
    for (const [address, to, initCode] of DEPLOYMENTS) {
      expect(await codeAt(plain, address)).toBe('0x')
      const transaction = { from, to, data: concat([zeroHash, initCode]), gas: '0x7a1200' }
      await plain.request({ method: 'eth_sendTransaction', params: [transaction] })
    }
    for (const { address, codeHash } of accounts) {
      const [account, deployed] = [await accountAt(node, address), await accountAt(plain, address)]
      expect(deployed, address).toEqual(account)
      expect(keccak256(account.code)).toBe(codeHash)
    }
  })
})

/** Code, nonce and storage root. */
async function accountAt(chain: Pocketchain, address: string) {
  const proof = (await chain.request({ method: 'eth_getProof', params: [address, [], 'latest'] })) as Readonly<Record<string, string>>
  return { code: await codeAt(chain, address), nonce: proof['nonce'], storageHash: proof['storageHash'] }
}

function codeAt(chain: Pocketchain, address: string): Promise<Hex> {
  return chain.request({ method: 'eth_getCode', params: [address, 'latest'] }) as Promise<Hex>
}

/** The creation code with the address as its constructor argument. */
function withAddress(bytecode: string, address: Hex): Hex {
  return concat([bytecode as Hex, encodeAbiParameters([{ type: 'address' }], [address])])
}

function vendored(name: string): Hex {
  return `0x${readFileSync(new URL(`contracts/vendor/${name}.initcode.hex`, ROOT), 'utf8').trim()}`
}
