package admin

import "slices"

// Role is how much a member of staff may do; each role may do what the one before it may.
type Role string

// The roles, from least to most.
const (
	Viewer   Role = "viewer"   // reads everything that is shown, and exports it
	Support  Role = "support"  // freezes users and unlocks PINs
	Operator Role = "operator" // changes settings, re-drives parked records, asks for approvals
	Approver Role = "approver" // decides what another person asked for
	Owner    Role = "owner"    // changes roles and closes accounts of other staff
)

// Roles lists the roles from least to most.
func Roles() []Role { return []Role{Viewer, Support, Operator, Approver, Owner} }

// Permission is one thing that staff may do.
type Permission string

// The permissions.
const (
	Read          Permission = "read"           // lists, stories, exports
	FreezeUser    Permission = "freeze_user"    // stop a user's money
	UnlockUser    Permission = "unlock_user"    // let a locked PIN be tried again
	UnfreezeUser  Permission = "unfreeze_user"  // let a user's money move again
	ChangeSetting Permission = "change_setting" // rates, limits, switches
	Redrive       Permission = "redrive"        // try a parked record again
	AskApproval   Permission = "ask_approval"   // ask to settle, release or resume
	Decide        Permission = "decide"         // approve or reject what another person asked for
	ManageStaff   Permission = "manage_staff"   // change roles, close and open accounts; new ones are made on the host
)

// Permissions lists every permission.
func Permissions() []Permission {
	return []Permission{Read, FreezeUser, UnlockUser, UnfreezeUser, ChangeSetting, Redrive, AskApproval, Decide, ManageStaff}
}

// least is the smallest role that has a permission.
var least = map[Permission]Role{
	Read:          Viewer,
	FreezeUser:    Support,
	UnlockUser:    Support,
	UnfreezeUser:  Operator,
	ChangeSetting: Operator,
	Redrive:       Operator,
	AskApproval:   Operator,
	Decide:        Approver,
	ManageStaff:   Owner,
}

// Can reports whether a role has a permission. An unknown role or permission can nothing.
func Can(role Role, p Permission) bool {
	have := slices.Index(Roles(), role)
	need, known := least[p]
	return known && have >= 0 && have >= slices.Index(Roles(), need)
}
