// SPDX-License-Identifier: MIT
pragma solidity ^0.8.28;

/// Multiple owners of one account, each as bytes: an address in a word (32 bytes) or a P-256 key (x ‖ y, 64 bytes).
/// All owners have equal rights. Selectors, events, errors and storage slots are those of Coinbase Smart Wallet.
abstract contract Owners {
    error Unauthorized();
    error AlreadyOwner(bytes owner);
    error NoOwnerAtIndex(uint256 index);
    error WrongOwnerAtIndex(uint256 index, bytes expectedOwner, bytes actualOwner);
    error InvalidOwnerBytesLength(bytes owner);
    error InvalidEthereumAddressOwner(bytes owner);
    error LastOwner();
    error NotLastOwner(uint256 ownersRemaining);

    event AddOwner(uint256 indexed index, bytes owner);
    event RemoveOwner(uint256 indexed index, bytes owner);

    struct OwnerList {
        uint256 next;
        uint256 removed;
        mapping(uint256 index => bytes) byIndex;
        mapping(bytes owner => bool) known;
    }

    /// ERC-7201 slot of "coinbase.storage.MultiOwnable"
    bytes32 private constant OWNER_LIST = 0x97e2c6aad4ce5d562ebfaa00db6b9e0fb66ea5d8162ed5b243f51a2e03086f00;

    modifier onlyOwner() {
        if (msg.sender != address(this) && !isOwnerAddress(msg.sender)) revert Unauthorized();
        _;
    }

    function addOwnerAddress(address owner) external onlyOwner {
        _addOwner(abi.encode(owner));
    }

    function addOwnerPublicKey(bytes32 x, bytes32 y) external onlyOwner {
        _addOwner(abi.encode(x, y));
    }

    /// Also takes the owner, so that a call signed for one owner cannot remove another.
    function removeOwnerAtIndex(uint256 index, bytes calldata owner) external onlyOwner {
        if (ownerCount() == 1) revert LastOwner();
        _removeOwner(index, owner);
    }

    /// Leaves the account without owners.
    function removeLastOwner(uint256 index, bytes calldata owner) external onlyOwner {
        if (ownerCount() > 1) revert NotLastOwner(ownerCount());
        _removeOwner(index, owner);
    }

    function isOwnerAddress(address account) public view returns (bool) {
        return isOwnerBytes(abi.encode(account));
    }

    function isOwnerPublicKey(bytes32 x, bytes32 y) public view returns (bool) {
        return isOwnerBytes(abi.encode(x, y));
    }

    function isOwnerBytes(bytes memory account) public view returns (bool) {
        return _owners().known[account];
    }

    /// Empty for a removed or unused index.
    function ownerAtIndex(uint256 index) public view returns (bytes memory) {
        return _owners().byIndex[index];
    }

    /// Indexes are not reused.
    function nextOwnerIndex() public view returns (uint256) {
        return _owners().next;
    }

    function removedOwnersCount() public view returns (uint256) {
        return _owners().removed;
    }

    function ownerCount() public view returns (uint256) {
        return _owners().next - _owners().removed;
    }

    function _addOwner(bytes memory owner) internal {
        if (owner.length != 32 && owner.length != 64) revert InvalidOwnerBytesLength(owner);
        if (owner.length == 32 && uint256(bytes32(owner)) > type(uint160).max) revert InvalidEthereumAddressOwner(owner);
        if (isOwnerBytes(owner)) revert AlreadyOwner(owner);
        OwnerList storage owners = _owners();
        uint256 index = owners.next++;
        owners.byIndex[index] = owner;
        owners.known[owner] = true;
        emit AddOwner(index, owner);
    }

    function _removeOwner(uint256 index, bytes calldata owner) private {
        bytes memory found = ownerAtIndex(index);
        if (found.length == 0) revert NoOwnerAtIndex(index);
        if (keccak256(found) != keccak256(owner)) revert WrongOwnerAtIndex(index, owner, found);
        OwnerList storage owners = _owners();
        delete owners.byIndex[index];
        delete owners.known[found];
        owners.removed++;
        emit RemoveOwner(index, found);
    }

    function _owners() private pure returns (OwnerList storage list) {
        assembly {
            list.slot := OWNER_LIST
        }
    }
}
