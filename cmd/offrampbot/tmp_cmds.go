package main

import "github.com/spf13/cobra"

func flowsCommand() *cobra.Command     { return &cobra.Command{Use: "flows"} }
func reconcileCommand() *cobra.Command { return &cobra.Command{Use: "reconcile"} }
