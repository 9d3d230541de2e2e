package main

// A service is a source of messages.
type service struct {
	name      string
	weight    int // its share of the rows
	templates []string
}

// services have the lengths and the repetition of real server logs: a storage system and a cloud API talk most and at length, an
// operating system little and in many ways.
var services = []service{
	{"blockstore", 18, []string{
		"dfs.DataNode$PacketResponder: Received block blk_%h of size 67108864 from /%a",
		"dfs.FSNamesystem: BLOCK* NameSystem.addStoredBlock: blockMap updated: %a:50010 is added to blk_%h size 67108864",
		"dfs.DataNode$DataXceiver: Receiving block blk_%h src: /%a:%n dest: /%a:50010",
		"dfs.DataNode$PacketResponder: PacketResponder %n for block blk_%h terminating",
		"dfs.FSDataset: Deleting block blk_%h file /mnt/data/dfs/current/subdir%n/blk_%h",
	}},
	{"cloudapi", 16, []string{
		`nova.api.wsgi.server [req-%h] %a "GET /v2/%h/servers/detail HTTP/1.1" status: 200 len: %n time: 0.2477829`,
		"nova.compute.manager [req-%h] [instance: %h] VM %w (Lifecycle Event) after %n ms on node %w",
		"nova.virt.libvirt.imagecache image %h at (/var/lib/nova/instances/_base/%h): in use: on this node 1 local, 0 on other nodes",
		"nova.compute.claims [instance: %h] Total memory: 64172 MB, used: %n MB, claim successful",
	}},
	{"analytics", 14, []string{
		"executor.Executor: Finished task %n.0 in stage %n.0 (TID %n). 2087 bytes result sent to driver",
		"storage.BlockManager: Found block rdd_%n_%n locally",
		"storage.MemoryStore: Block broadcast_%n stored as values in memory (estimated size %n B, free 317.5 KB)",
		"rdd.HadoopRDD: Input split: hdfs://%a:9000/pjhe/logs/%w.log:%n+%n",
	}},
	{"coordinator", 12, []string{
		"WARN [RecvWorker:%n:QuorumCnxManager$RecvWorker] - Interrupting SendWorker",
		"INFO [NIOServerCxn.Factory:0.0.0.0/0.0.0.0:2181] - Accepted socket connection from /%a:%n",
		"WARN [SendWorker:%n:QuorumCnxManager] - Interrupted while waiting for message on queue",
		"INFO [SessionTracker] - Expiring session 0x%h, timeout of 10000ms exceeded",
	}},
	{"sshd", 12, []string{
		"sshd[%n]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=%a user=root",
		"sshd[%n]: Failed password for invalid user %w from %a port %n ssh2",
		"sshd[%n]: Received disconnect from %a: 11: Bye Bye [preauth]",
		"sshd[%n]: Invalid user %w from %a",
		"sshd[%n]: reverse mapping checking getaddrinfo for %w.example.net [%a] failed - POSSIBLE BREAK-IN ATTEMPT!",
	}},
	{"web", 8, []string{
		"[notice] workerEnv.init() ok /etc/httpd/conf/workers2.properties",
		"[error] mod_jk child workerEnv in error state %n",
		"[error] [client %a] Directory index forbidden by rule: /var/www/html/%w",
		"[notice] jk2_init() Found child %n in scoreboard slot %n",
	}},
	{"system", 8, []string{
		"combo ftpd[%n]: connection from %a (%w.example.org)",
		"combo su(pam_unix)[%n]: session opened for user %w by (uid=0)",
		"combo sshd(pam_unix)[%n]: authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost=%a",
		"combo kernel: CPU %n: %w throttled, clock %n kHz, device %w irq %n",
		"combo logrotate: ALERT exited abnormally with [%n] while reading %w",
	}},
	{"batch", 7, []string{
		"[RMCommunicator Allocator] mapreduce.v2.app.rm.RMContainerAllocator: Recalculating schedule, headroom=<memory:%n, vCores:-27>",
		"[AsyncDispatcher event handler] TaskAttempt Transitioned attempt_%h_m_%n from ASSIGNED to RUNNING",
		"[communication thread] mapred.TaskAttemptListenerImpl: Progress of TaskAttempt attempt_%h_m_%n is : 0.%n",
		"[LeaseRenewer:%w@master] hdfs.LeaseRenewer: Failed to renew lease for [DFSClient_NONMAPREDUCE_%n] for %n seconds. Will retry",
	}},
	{"cluster", 5, []string{
		"crond(pam_unix)[%n]: session closed for user %w",
		"ib_sm.x[%n]: [ib_sm_sweep.c:1455]: No topology change on %w",
		"dhcpd: DHCPDISCOVER from %h via eth%n: network %w: no free leases",
		"ntpd[%n]: synchronized to %a, stratum 3",
	}},
}

// words fill the gaps of templates.
var words = []string{
	"admin", "oracle", "guest", "ubuntu", "postgres", "webmaster", "backup", "nagios", "jenkins", "deploy", "operator", "support",
	"Started", "Paused", "Resumed", "Stopped", "Migrated", "Suspended", "alpha", "bravo", "carbon", "delta", "ember", "falcon",
	"granite", "harbor", "indigo", "juniper", "kestrel", "lagoon", "maple", "nickel", "onyx", "pepper", "quartz", "raven", "saffron",
	"tundra", "umber", "violet", "willow", "xenon", "yarrow", "zephyr", "anchor", "beacon", "cobalt", "dynamo", "echo", "fjord",
}
