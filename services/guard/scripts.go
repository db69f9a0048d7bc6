package guard

import (
	"time"

	"github.com/redis/go-redis/v9"

	"offrampbot/services/ids"
)

// claimScript claims a content for an intent, atomically over both keys (W1, W9). It is sent whole each time, so that a
// claim is one round trip even to a server that has just lost its scripts.
//
//	KEYS[1] the key of our channel · KEYS[2] the key of the other
//	ARGV[1] intent · ARGV[2] now in milliseconds · ARGV[3] life in milliseconds · ARGV[4] "1": other intents do not refuse
//	returns {"claimed", ""}, {"own", value} for an earlier claim of this intent, {"refused", value} for somebody else's
var claimScript = redis.NewScript(`
local refused = nil
for i = 1, 2 do
	local value = redis.call("GET", KEYS[i])
	if value then
		local state, intent = string.match(value, "^([^|]*)|([^|]*)|")
		if state ~= "failed" then
			if intent == ARGV[1] then return {"own", value} end
			refused = refused or value
		end
	end
end
if refused and ARGV[4] ~= "1" then return {"refused", refused} end
redis.call("SET", KEYS[1], "processing|" .. ARGV[1] .. "|" .. ARGV[2], "PX", ARGV[3])
return {"claimed", ""}`)

// takeOverScript replaces one claim that has no order behind it, if it is still exactly the one that was judged.
//
//	KEYS[1] the key of our channel · KEYS[2] the key of the other
//	ARGV[1] the value judged · ARGV[2] intent · ARGV[3] now in milliseconds · ARGV[4] life in milliseconds
//	returns {"claimed", ""}, or {"refused", value} when another claim is there
var takeOverScript = redis.NewScript(`
for i = 1, 2 do
	local value = redis.call("GET", KEYS[i])
	if value and value ~= ARGV[1] and string.match(value, "^([^|]*)|") ~= "failed" then return {"refused", value} end
end
if redis.call("GET", KEYS[2]) == ARGV[1] then redis.call("DEL", KEYS[2]) end
redis.call("SET", KEYS[1], "processing|" .. ARGV[2] .. "|" .. ARGV[3], "PX", ARGV[4])
return {"claimed", ""}`)

// moveScript moves an intent's own claim on. States only go up in rank, but for the one edge that a returned sale adds;
// somebody else's claim is never touched.
//
//	KEYS[1] transaction key · KEYS[2] pin key
//	ARGV[1] intent · ARGV[2] new state · ARGV[3] now in milliseconds · ARGV[4] life in milliseconds · ARGV[5] "1": an
//	absent claim is written again · ARGV[6] a state that may be left although the new one is of equal rank, or ""
//	returns "moved", "kept" (already there or past it), "other" (the content is claimed by another intent), "absent"
var moveScript = redis.NewScript(`
local rank = {processing = 1, transfer_completed = 2, completed = 3, failed = 3}
local value = ARGV[2] .. "|" .. ARGV[1] .. "|" .. ARGV[3]
local other = false
for i = 1, 2 do
	local found = redis.call("GET", KEYS[i])
	if found then
		local state, intent = string.match(found, "^([^|]*)|([^|]*)|")
		if intent == ARGV[1] then
			local leave = ARGV[6] ~= "" and state == ARGV[6] and rank[state] == rank[ARGV[2]]
			if not leave and (not rank[state] or rank[state] >= rank[ARGV[2]]) then return "kept" end
			redis.call("SET", KEYS[i], value, "PX", ARGV[4])
			return "moved"
		end
		if state ~= "failed" then other = true end
	end
end
if other then return "other" end
if ARGV[5] == "1" then redis.call("SET", KEYS[1], value, "PX", ARGV[4]) end
return "absent"`)

// renewScript prolongs the claim of an open order, and writes it again when it ran out.
//
//	KEYS[1] transaction key · KEYS[2] pin key
//	ARGV[1] intent · ARGV[2] now in milliseconds · ARGV[3] life in milliseconds
//	returns "moved" (prolonged), "kept" (completed or failed runs out by itself), "other", "absent" (written again)
var renewScript = redis.NewScript(`
local other = false
for i = 1, 2 do
	local found = redis.call("GET", KEYS[i])
	if found then
		local state, intent = string.match(found, "^([^|]*)|([^|]*)|")
		if intent == ARGV[1] then
			if state ~= "processing" and state ~= "transfer_completed" then return "kept" end
			redis.call("PEXPIRE", KEYS[i], ARGV[3])
			return "moved"
		end
		if state ~= "failed" then other = true end
	end
end
if other then return "other" end
redis.call("SET", KEYS[1], "processing|" .. ARGV[1] .. "|" .. ARGV[2], "PX", ARGV[3])
return "absent"`)

// freeScript deletes an intent's own claim while nothing has moved (a wrong PIN, R61).
//
//	KEYS[1] transaction key · KEYS[2] pin key · ARGV[1] intent
//	returns how many claims were deleted
var freeScript = redis.NewScript(`
local freed = 0
for i = 1, 2 do
	local found = redis.call("GET", KEYS[i])
	if found then
		local state, intent = string.match(found, "^([^|]*)|([^|]*)|")
		if intent == ARGV[1] and state == "processing" then freed = freed + redis.call("DEL", KEYS[i]) end
	end
end
return freed`)

// keys returns the transaction key and the pin key of a digest within the guard's installation.
func (g *Guard) keys(digest string) []string {
	if g.cfg.Installation != "" {
		digest = ids.Digest([]byte(g.cfg.Installation), "guard", digest)
	}
	return []string{g.cfg.Prefix + "offramp:transaction:" + digest, g.cfg.Prefix + "offramp:pin:" + digest}
}

// keysFor returns the key of a channel, then the other one.
func (g *Guard) keysFor(channel Channel, digest string) []string {
	k := g.keys(digest)
	if channel == Page {
		k[0], k[1] = k[1], k[0]
	}
	return k
}

// life is how long a state lasts (R50–R53).
func (s State) life() time.Duration {
	switch s {
	case Processing, TransferCompleted:
		return 600 * time.Second
	case Completed, Failed:
		return 300 * time.Second
	}
	return 600 * time.Second
}
