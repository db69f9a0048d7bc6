package main

import "github.com/spf13/cobra"

func flowsCommand() *cobra.Command     { return &cobra.Command{Use: "flows"} }
func adminCommand() *cobra.Command     { return &cobra.Command{Use: "admin"} }
func settingsCommand() *cobra.Command  { return &cobra.Command{Use: "settings"} }
func migrateCommand() *cobra.Command   { return &cobra.Command{Use: "migrate"} }
func keysCommand() *cobra.Command      { return &cobra.Command{Use: "keys"} }
func verifyCommand() *cobra.Command    { return &cobra.Command{Use: "verify"} }
func reconcileCommand() *cobra.Command { return &cobra.Command{Use: "reconcile"} }
