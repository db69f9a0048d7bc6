// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// Token is the stablecoin of the tests. Anybody may mint; a fee, when set, is kept back from every transfer and shown
// by its own event, as tokens that take a fee do.
contract Token {
    mapping(address => uint256) public balanceOf;
    uint8 public immutable decimals;
    uint256 public fee;

    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor(uint8 decimals_) {
        decimals = decimals_;
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function setFee(uint256 fee_) external {
        fee = fee_;
    }

    function transfer(address to, uint256 value) public returns (bool) {
        require(value >= fee || value == 0, "below the fee");
        balanceOf[msg.sender] -= value;
        uint256 kept = value == 0 ? 0 : fee;
        balanceOf[to] += value - kept;
        emit Transfer(msg.sender, to, value - kept);
        if (kept > 0) {
            balanceOf[address(this)] += kept;
            emit Transfer(msg.sender, address(this), kept);
        }
        return true;
    }

    // spread pays several people in one transaction.
    function spread(address[] calldata to, uint256 value) external {
        for (uint256 i = 0; i < to.length; i++) {
            transfer(to[i], value);
        }
    }

    // feign emits a transfer that never happened, as contracts do that want to be seen.
    function feign(address from, address to, uint256 value) external {
        emit Transfer(from, to, value);
    }
}
