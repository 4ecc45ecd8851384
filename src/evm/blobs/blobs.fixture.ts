import { keccak256, toHex } from 'viem'

const MODULUS = 0x73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001n

/** Commitments and proofs by micro-eth-signer, which takes 20 s for them; `blobs.test.ts` verifies them with it. */
export interface BlobVector {
  /** 4,096 field elements, as 0x string */
  readonly blob: `0x${string}`
  readonly commitment: `0x${string}`
  readonly proof: `0x${string}`
}

export const BLOBS: readonly [BlobVector, BlobVector] = [
  {
    blob: blobOf(1),
    commitment: '0x89c9189c87b3eef0fcf7a8c247533a904979e885d187ee6ebdb400045c74f09e2c80154808dbd663f510088f4a00c3a2',
    proof: '0xa623be4237b4ebf247f4d0e887386a9a3abff140bf61d856183c972b03bb5d564efa2279cbeacc6860a8ffc8f7b981b4',
  },
  {
    blob: blobOf(2),
    commitment: '0xb6548a35a8c450a4ecfec78c04bbd83d1cd1288b4b51bb80066d6bcaf9b74e5f52198ebc74c52c6f817e4c6d137158c2',
    proof: '0xb9222ab2dbc79aa769985a9cc55c2ad158983bd060426211affb7145f180083bb1f33fbd27f0ba09f5795b4f44cddeba',
  },
]

/** The point at infinity: the commitment to the polynomial zero, and the proof for each constant polynomial. */
export const INFINITY = `0xc0${'00'.repeat(47)}` as const

/** Returns hashes as field elements. */
function blobOf(seed: number): `0x${string}` {
  return `0x${Array.from({ length: 4_096 }, (_, index) => element(BigInt(keccak256(toHex(seed * 10_000 + index))) % MODULUS)).join('')}`
}

/** Returns a field element as 64 digits. */
export function element(value: bigint): string {
  return value.toString(16).padStart(64, '0')
}

/** The 128 proofs of the cells of the first blob (EIP-7594). */
export function cellProofs(): readonly `0x${string}`[] {
  const bytes = Buffer.from(CELL_PROOFS, 'base64')
  return Array.from({ length: 128 }, (_, cell) => `0x${bytes.toString('hex', 48 * cell, 48 * cell + 48)}` as const)
}

const CELL_PROOFS =
  'izBfNwfvTe5h3jInmKccHfo40lPAO9xLuVT1viB9Da/bmUaj9OIZZef8VVffJ9mOoX5BN5HTo/2jCRMRdVcZWTC1Dr3RBRjZpbILvFZGPNo7jQewQ9wREt13lBahOEu7' +
  'j288z1p9Dxyy0P5kFSvaX/YrR8DiQvjCH/ggdwzVd1Je+DwpBt6iy2tc5miyXal2jGuBniI0dPN3KfQIGKazm21QxHYvF/HI9TzIHqckOLiKcSuOfJ8fgZDN83hFU5X2' +
  'rlpxPLYXvGxbeoVmeYHaEnlTRj59T9LMHW9wgygmNDcuaMkt4XiIyVrXquLqhkSZi9FumDchnWF3wXqOax7haN1VZF1V+W2bOFf3Uca4zOrs3hDLcfkv45Bz3r7B0w1H' +
  'qEuMzRQn1UCR+bouVyq2cs9VLwhg7MugzjXitqiZF5M6ZZ7BgerSvBpSQQfCAka2tPbg1CVNpbO2WLZR08rGS+iF+XuZ5icY7FIrIPjRZIMb6IXo9fsEga5FZ6uq4gS/' +
  'rPPLL6TiiwBO6hZ1UfJwISyHYmo/FwhP/B6XtTeVQCqLAdzfZaP4zjOFK1160H9Zr7B+B0mc+Ptvx15DdA4HlgGtktpomO2ARoPjyeHJUms/Zpx8Qy5VQFDhIYAZsaO2' +
  'kU4O1fhZP5IahNiJNNBqMXE58RB24wiV87dcACbWHRgIEdF0nWs8hE0tk75WhEdJsBBAZyl0ve3/hFLazmBSapFgHqzayqwlo3PMM/W3vxlly5o5gmVUxIYv96H1x+jQ' +
  'r17uwd5QkvM0k1lOyf5YdoIuA+6Hp+AfKwgsd39zOupKiMjFjhmY7jzMTIwF6FK5pLv/vGqGD301ggNGtLyRjrXlnnVXmdat6PWaMz85lJNAfnFKt1IoYucxspn4tfbk' +
  'jwjSiNUYNaHXeEcCFfnX4SpYjYaKBJVhi0+EiY/TK5DS8rxy4Ikxb00q9/xiwno/gEvwAcTvOhXdPdckZau7GqaGPm4TnwwSzSnhNH4sJzqmAhN/246TNryIc0nn2H63' +
  'lPYop2hrl06aA7tnEVO1or+kE2RUks+2nG5hpPY4AlWtYjQlPcPTgQ/r+JsqFlmnrga/qFVjrZ4WtVJKUUg0r5xudattyCOclqdvyaAG3RHEC67XgB8ViS1JSe3Nc7Ym' +
  'mVSLwTAzco5fSUhfGgLgkyzd98uhEuGQY8gJjtioLsr6PaszE6YLBmAeQsHUbT9jluzFJyzxory6irJS+jJ9lq/r/MFAZYyXPDfgnsvPeXcXq0bD0ltgk7FFZXzPMnNC' +
  'srHgvig1OhER/e+sEUJgK7HYXAB8n2/MI6y04kaTWNmFRhArd3UhD8ayufT30JxqmdvYKpiX7ttce92uCTRL3nbgGmlppI89WkhG7ZX9yZkA03X3aUfIO/tzhIecIc3T' +
  'pAIm+KJhHZiZkMZ98zUNfoZEabQXkd5MkcUCSO3MwYKA4l9Ec9UNk07J/ME3Vg9usk1j1bTHlCLWzZJw1/tE+UQjjb8B1Nud80v4Uy8mK2B3k8X/eIWr9evAfcTLOvXi' +
  'ouWXmvJZ/FR+f7Eo0MYxpfFNlzvB+/04ajpRcb2uuXC1Dl7LZ6DL35mTC3zNZILVp7c+OSbmCNMzbY2kpMDqqMVmB892HKidDat14iJSM5sDTrUbCwBO++baDjq+kkBp' +
  'pEg8zlBJys/UPKCXAvxSr3nhncJcPV5QY2KtkX1og4JZbIl2OXzpyUZ1qc4B9WOIkIWq1EmhNHqgU/lTDnLxKHYccluNgz69uDyIrY3dkoum3lG6LmcaCKJXfBouCSL1' +
  'jXzyen6eDbUIcKenMBiBFVsTVteXwzC3iSFlanslVU/734HxQsjV+0x0kT3jdIzUmPQwMZfS4jIyMFkKOmZ1ix/I9QJo0Z2As+2Bt6rvWScTh9Ws923qQj5qlShWj6Av' +
  'h0xa8dhd28uJH22zq0EFcpi1MGC1tKr1buBzoyeZaBCDBAcrB6lTVodaVcUYDrV6ub+GaJFU/Skp083uo4NobQXJv0jtgARuVQMANUcAiCPoxlLlAHsQ08O0dyiW7eyE' +
  'kGJgYkm4hJ+6uSJiH2uRDMHPFulEJMO/Wiu4GlpUbJGC7L7KUBGbBO2kVOy4AzEQj+t5OjB7eyOIWRtpFwA9fxNyhuvlohgQUohEiXw82qNMUOa7lO/Z2v8cjKgYc58A' +
  'tnMM+1GMtTTqQKU6mTpSmvtDbOUc75pgRB1rGUYdjtIZslrzpBqI+IkvEt/ZXYJcqbEm9DKXLS80TOzbk52iaQtoNIjW2+swBn5zg6gde8f1oLGWig6cR6AQUIW/t/hn' +
  'kItZqtmHH4Ea4wv3jWz/G4ONr68dhjaiVeLGJ4b01BLON9yVJX2Humi40ZlohyRDtasUglMsDLGDhptWKT5rvfrGyt7PBq9g2D9LT50llaS9GyIHw49x0H3YG+24myS0' +
  'sQcl6lG7/zr8rW1z8Z8zW/dCjZDeqzfoDyCYsgafh2yozfyKw8Me+XlJkA5ZAQRQhLwqDsFm1X3pAi0BkTxJsTfA+D1PpAEW6MZg/cjTnmyAUd9cv0FNMPKPS/iJo53O' +
  'spHowGnCTsfZaGNHzTSb95cW81TRk7hLHmux0klhxeG06D5MoBjm032oe7FKTxsHlCXI5XZhrneAPVvRodNuTQK7Hpc8OMvj5BhzQeF/rZke/2VkDGm6gF7CgdaHZ5c6' +
  'lyaSmlz5Dp3htuMUTMaCbvf8P74g6mDpEE7p2vWz8KlZ2rKu8rQ5HN7xRrjg2dELmLTFUwgSqmWgk1idqDBuY5ROKQr7DjWIRiuor/sZFiSYVMi5UQ/xRSHXbZiW28fP' +
  'maU3VHj5yRav3EDGECCnPDHHP1TC/iBz3g+0totG7RjNVZ/alZuuoD58MhTQ3qrkuQOAhv0OfZxzL7Ohf6zHFmsHBflFiphp3TUeT045JVHl5GIRrAKsxUqNu0TmcO4k' +
  'rfR5+Y/LoRpzA64SsryujxTEKiW59VNse4KZVgthL4k4lAzhHsJV0NEeNDQ84B7PtnjVwBjhq7LfyFAIk2AwUtK2uov7//vokxfpnSjGgdhVDgaHP25Rzh4miKGS778b' +
  'jwiX1GQwZiXhr4XmlCcKspWnueV5+cSNJDMTeXr4wTv0xB1K472dq+sk4SJlXHsfh3Ycjem95r/4VTJQriGAHr2NvRwCT89pCmbn8eoPC6hXdHtObraPXB/TGCigJKgK' +
  'kx2oJUWKEQAHcjLsqLzZ/KQzxPAeFtuyrjROWX7zdHshfIMOZ5ZGpCr5fWuULjMrp7YHDMCZ8TORHucDIZRlTF8UX8fYufKieQ6ASrIAnU2ZPxnR4u1Pn75QuKoh5bAz' +
  'rI7TBg8IZhTN+ADLjQLSGkgGp7Jzf+GNBXPV74WO9crVxZct/bOT47Ej6jYe/sjFq4O7j9eudS6RbLITqWexFnAYfI//GZAemZqxU+0XqQxKKKvD7tShD7PzVryn8cru' +
  't7t5euidQZPWf+iBrHAijgeu7xA8UCEdfOcNOctGNoEMmHdP5lEHAznmaPlRITBDk09LqPD6Vow7fuGZPzweUmjiiOqM9pCjfRRyGeuUPKlfO0Rd9jqwrezmGg/G+PXU' +
  'qRMnUV6wYahEVnkH8AR8BkEUx1OSg01+D/gqF6Upq5tu+X3WtTjCLSnOYdMWix7nhSztjf1vQ+tijw2UfDkpJkAgd5m7XILPzhPRwSA5d87VRgQ1fUJiWBgqS5y3Hjjf' +
  'kp/ejtLdNEvlsRgJwn1CygFP/kPH/RzsPv5hE5kpzMLfPAp5YSDgu1hUmk39G7R7qp1VXXa3oG9ScE+4bHYsU1SE4VuEvOBBMwliqHtN/3CcNvuZjxbSGxxdPbnGk8rS' +
  'tnrFoud7mq3Bpcx8+QV7QVzXPGfZ0BWl/VNjouIhk/6Z3VxsYalNWrAqT4V5/M/VpUAEz8zBj3YFWHf870r38IWPt7Bj3EcEfjeKB3QELtvK955BapViNJx0ULn4jZBR' +
  'g3XtlPEqQcCbUfdFnW8bNSqnj4YRW4MgNI1UTwnRmf7YDnKhG+9RjvPYVCM++E/OgseihOMLtZQWgWfk6Yf1L5kO4UjRBMe8jYHad+cHUJZ0XlwjiYMAkDFl4VEAjcAy' +
  'tvKh9g0cSRnUYw/61GUzbeeU61023lidCL/hrpsFiDQ9hX6dSKGPIcFgfRiM4X7smL/wqbl1xI1LQQViMqeLL8Hr9kYOhZzeOHRAToyTsbTjNnytDIzH5DltwU56neul' +
  'hreC7sQo7UohZoip7Xrh9gFiDKTzP3scCf+/PPd15cmMiVEZMUmrv3qm640IbR8FtNTncT1/RJTl3OJ6eGXP+pSxO1jfy7bVwAsKvEjS0xSdHGYXLocrGxOPlxnALlB8' +
  'q2iPfiXNhbFvK8dfDO0md2WVsrs8yXo9whqzPYQAObNYRq9jHFzAjnFPU75HJanrqB0ms7HexnoKvdpFO2QA+xO8AWg7FIWrTsZc5GWIjOUfUrwBChkZ1sUz2oE39l5g' +
  'i/BIVDsxwS/2taMiM4aCDMuYs0QIzv8Du6ZjTcVybiDeMcgXa6kuwBluEpD9xSCEq19SAZFvBxQNgrgURqlAmnHbg7S74MJZfI23TYz2dZ7B2r1/tRWVNcIqwMSp4uV6' +
  'o58uqajK8gSUYJqQYuODvueaLIAMlLI6T+HIBDlPvGYtT/9KWGdbi1HElCK11HssoWjoVeOa/KPG9+BPL1V7xwy8AL88H1gIQoMQDQVebnULPhan56pJ0E3/nisYwDhJ' +
  'lsNFH2hbBtmAg5+sUXDzGi8EdDN8XG6Jwud8ZIwukMi9LTQqU/4FVOZYKNP3m3U3g6XgAH6WLffpD8wTy0eoJqb+7r0Aihs7MBYNm/OjQPSBshBTiU4ZG5VSonFxBXhf' +
  'sF/hvm/1qEpJ0yxN8j/T5jupKXXlC6Q+FVKXBD67yWcH0ZO/hRiHVpdLfwwQA9lol5FQnXLclYHnKsIbpRM0StqAPrYRsVbKhnz58zOULjKGw7TxkNUFjaDGMuHNApPv' +
  'jjHdFk9gHnnElaDz5JUfqxeeRQAhIlVDuICiSFWLjdJ92gq8/45B69aa+r/NMbJWt8d+jJdqJKugtOquCyrRLlAi4pvgk/O0Dmynisx/qkdl3askkJmjile5yulg0HH1' +
  'mQtoh4byx03lobJylzpaqsDIcOuafSh83G+KjFVc/U45bl2SCAgmuEvvpXrBOymMlk/zDDPwbitCqOjr+q7WfJbSnJLAPvECqw/8MjuXirN97XfZ4CTXL5EBupePj8ia' +
  'j8VFQTICAUKrdnrjeEe1h/eVWTGzf2LgXZsmiNZqBtcCuiF1M27qT7nlQXpJ8ZQSuXduFVgqpUD497RjKSKdz/IrAA+aLrBj6C/sE/sMax5df3m4tQOkQ4munSXMvFZR' +
  'rz1UZJXMuitHrlk4tGuuBFVQkVXbwrrzPIJvYrIewFbz0JVnNcEu4+NgE0j/j2X4rU2nP1zMEtxNQffZYdUQkBgUlhTLanhPDF2L/XkiNFH20IxePxVxCPIklZY5aVm4' +
  'gf8acUw0x92mwcR5EcJeWr0pFObKQEMF0zCfoHsf3gVt0uqa4vP/1IDocAjfUHUJsYiuc/2ikMscFtQqUO33zQtWH1/y4++WAJhG6s+0AkjcD5Y7PcotfkJBVj3WgP3E' +
  'mJb3Woi9lqnoNj1gNpVC9mlXYH3IPJCxd66bc8lqMXpC9L9La9Rx8eUdkyiNwabssEinTP43TXVB7EuOzeNV3qyWb5EilJw2E2YF6VSTz1pvl0ZPg6fE8lC7/IpA2k+O' +
  'hOjtSvkU/L6Qk5mkNby5OW7ajKQO8b0wl8fUMOcR2+2K41CVL/+b4KO04T7OlaXgkzvxTSitHGWOKZoFBv9jj9ljmHV+x+pcEES063IkmqyGmFM6ZrZBq+Vw9oeeHxBG' +
  'gMMuPM7IjWUgDjqwUQFfwiDMFfuS7LPbOUvzT6O+/qtg6WMTMPQMPCDiP2pBmD5ci90BCz19UIfL7U2hJGviLA3WLu3HgVsIQ7ZajPKIn00jJm1E0suBhan9GESkTQTI' +
  'mAYNpMplO8XY6eLDWY3785QFYXHiHlmCm3K7HHZifhQNNj3+4U8KVRs2xcryyXLkt6OHfcmjo111qajQbrpDO3p0zM3tJgtV6a14vTSQoMzwDcor6FpfWau1uWkyVCmz' +
  'oaOoQXOuepqk+vKye/UOhWnZj8k95Wig2al6zoqlMADZ2de46YQNe6P4DH7fsdvQkUTWhO7o+wfhIRAq2Slfg8njYXXZOD1aoH9EcPlFozdJTY7EhRxmHpio5UiKQQAa' +
  'rCynNo4x91jMi9boI6eMTalWPzAUWZuhy5QAKqufiUgjbQ1ze1kxy8wx2Z1i20BYreHH78hakUrkh8b7euTqX7gbSb3YajKGcyedgfL03IpZrANVqN0iQXTlDFULC8XQ' +
  'kWtBnz9XVCMKuyI6o95HLR4b3twBDINp0rbcEs5hruQ9UbecTzwClPg7MOUloXBeqHkdlsIv49SP5/sIq5kdXtXkUXmwUCanAHL/ZyscbZShHo+X7xmxOgE/CYi/LjmB' +
  'lMg9XCCTCP7yI0pYwsq5+9mAoj1pA62IzKXcvoqaQ7eWJsf6D02CoFu3kWzVk7ZLoYEagbpMm++6v2iE/ucNYSFDA3c5G+P21Ptxo5oHawjKCjsbP9HQTRUA69Etpo49' +
  'lYIY/uMPAqo65ORYVkcNseUJj8MpZBVqJyGlBd3MFyMdPVC5eV3HTY/vpRUBAk2/jY41uhGQ/kaD74bz6/CWOd+YslRQmDpRIqhEjr6ZgOv48JVCO2fHE2j8FaA+0drS' +
  'k6vMWphfht2fbCvCaeXy8ZYsyPca4nrNHJEywhRzHQ5RyCP8HBvLkmsHvTX5jsnaqBLZbqOqwGe3wRB2MnV6FYcyL2pk862lDfJaIe3vNMEyPy/Nr6tnKpNbH2xGX57n' +
  'k/y1ckeSziEe/eyXaLt6dE/OOC8u2nMgUpdpzD0fMNiRESdq1FOoh2MpEIpT2t1Qk4x5rCqKox5gauErsGvnJ2oAnR6+M1e+Tm2B4S38X7LRBIqGRDskwNySMZk/lyCd' +
  'lzizjFg11gWFLiA59k1PpKHgQDQ1EQPMhDwkHPvWkWwIccds+DC9aAZ1igne9JyYitGWDpl/alkHhrxGSqBqf5ENc1UDpk/dCHRtYqB8J1M3W9eYjgUWmNppwF1sNInP' +
  'ttHWupP1Nq+IGUfewZOnuyQHtWANwgelrG8dXziMZ/HtOX1ptKdvLU7E/puqxu0qgkR0FQ/MxuxizxE3mc/qGgcGQQVzr70Hv8Y4yYVkjYqx+OFjTbV+3Q4O9pcr59Y6' +
  'ufOIiLsJeSMWcgnU5NipuzWE5/bz3x3G9ELMQyE8ERXeZIeQAQx7xP1GhmMCPrhlt3V/99KzWfHTf3s0F/0mOLC7vrugqKEef3IDFUXOrraBdMMUHIKqlgNT+izVCQcR' +
  'gBQjFw4y5lmmK0jp9IBDPifTo6+06pemk2YqRPZSVOKAoA3aPVvH69RbuYxD9RyOgy7gteiQGQujUbJRbreD55PVxDoFSQYE2JuPJ8ESo5xg1ktmMSb4/BCnuSkxs971' +
  't2BkHTDp2sOqOw75S99miWQYvHImjv7Cuug1lWUCRR692oPOaV01s+rOR0592NeguWt5nTDd06yFUIPGF5+kPQ38mu+ENbRQ4Sq29Qodway/MO++VlH9Du/Q1HUorMEC' +
  'tVVUBdtULfVP83fZPU7zrkeV4iT1BRjdyS2qss9mbkWPt5wcx6yne4gBPSZ7qjy2kzwHXnsLaJ0G5/WaMvSYpplWYR9Ppp4DzD8tblZ3IJ3+kQWIhCUAY1cfJ5k90GK7' +
  's3scgz3sAJnelYk7ooZHzMH7S1JswH4c0AVa+mbHt0O34iEm+uvPKwWDFAL1FifFgqpbHT4+8tJZHDRU1Zf870oPyGzHsaG2fgCeDsoj+Gm8t7KeA4RKmQ7Kj+44B8fA' +
  'hMJrBiOFPpLmpTDWUFQ+piWup7M7lHWTT98yjXgwb9+RPKBv/niuxXkYCBdFqOcQivNpazOCAvh5j2OTelQOK1/edKBAoVjVh43qv9mloyT9D4bKgH64qyIIIH30fM0C' +
  'rRlTphsWuxg0Rd69VMLsXmcdwgWWvZPZltEV8oVior4fhQfpw/qjOYxDnFIYHRfajyWPMlN2JNqGDOZvX5tRnQWQlnRzpAXBBcfeTXrQ17yh2x3Au1kYMUmwbKYYS/BN'
