// Package deploy holds no code: it is the folder of the image, the Compose file and the Kubernetes manifests. Its tests read all of
// them and hold the names, ports, paths and commands in them against the program; docs/operate/deploy.md tells how to use them.
package deploy
