#!/usr/bin/env bash
# bash examples/cast/preconfirm.sh [url]
set -euo pipefail

export ETH_RPC_URL=${1:-http://127.0.0.1:8545}
key=0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80 # the first dev account
bytecode=$(grep -oE '0x[0-9a-f]{64,}' "$(dirname "$0")/../contract/counter.mjs")

# cast counts nonces in the sealed state unless told.
nonce() {
  cast nonce --block pending "$(cast wallet address "$key")"
}

# One field of what cast prints.
field() {
  awk -v name="$1" '$1 == name { print $2 }' <<< "$2"
}

next_block() {
  local block
  block=$(cast block-number)
  while [ "$(cast block-number)" = "$block" ]; do sleep 0.05; done
}

# Deploy. The contract can be used as soon as the receipt is here, long before its block is sealed.
# --sync returns with the promised receipt.
deployment=$(cast send --sync --private-key "$key" --nonce "$(nonce)" --create "$bytecode")
address=$(field contractAddress "$deployment")
echo "deployed       $address, promised for block $(field blockNumber "$deployment")"

# Begin with a fresh block, so that there is time to look at it before it is sealed.
next_block

# Send, and have the receipt with the next flashblock. Signed first, so that the time is that of the node.
signed=$(cast mktx --private-key "$key" --nonce "$(nonce)" "$address" 'increment()')
TIMEFORMAT='receipt        after %3R s'
{ time cast rpc eth_sendRawTransactionSync "$signed" > /dev/null; } 2>&1
hash=$(cast keccak "$signed")
promised=$(cast receipt "$hash")
block=$(field blockNumber "$promised")
echo "status         $(field status "$promised"), block $block"
echo "block hash     $(field blockHash "$promised"): not known yet"

# What is promised can be read: state, logs (here over WebSocket), receipts.
echo "count          $(cast call --block pending "$address" 'count()(uint256)')"
echo "pending logs   $(cast logs --rpc-url "${ETH_RPC_URL/#http/ws}" --from-block pending --to-block pending --address "$address" | grep -c "$hash") over WebSocket"
echo "pending block  $(cast rpc eth_getBlockReceipts pending | grep -oE '"transactionHash":"0x[0-9a-f]{64}"' | sort -u | wc -l | tr -d ' ') receipts"

# Then the block is sealed, and the promise was true.
next_block
echo "sealed         block $(cast receipt "$hash" blockNumber) is $(cast receipt "$hash" blockHash)"
cast logs --from-block "$block" --to-block "$block" --address "$address" | grep -q "$hash" && echo 'kept           true'
