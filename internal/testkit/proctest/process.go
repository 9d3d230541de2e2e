package proctest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

const (
	readyTimeout = 60 * time.Second      // from start to the first answer; generous because CI shares two cores
	readyPoll    = 20 * time.Millisecond // between two readiness probes
	stopTimeout  = 30 * time.Second      // from the stop signal to SIGKILL
)

// Config says what to run.
type Config struct {
	Path string   // absolute path of the program
	Args []string // without the program's name
	Env  []string // as os.Environ; nil inherits
	// User runs the program under other ids; nil keeps the caller's.
	User *syscall.Credential
	// LogPath is the file that takes standard output and error, appended to.
	LogPath string
	// StopSignal asks for an orderly end; the zero value means SIGTERM.
	StopSignal syscall.Signal
	// Ready returns nil once the program answers. It is called again and again until then.
	Ready func(ctx context.Context) error
}

// Process is a running child. Its methods may be called from several goroutines.
type Process struct {
	cmd        *exec.Cmd
	stopSignal syscall.Signal
	exited     chan struct{} // closed when the child has been reaped
}

// Start runs the program and returns once Ready answers nil. When the program ends before that, or does not answer within a
// minute, the error carries the tail of its log and nothing is left running.
func Start(ctx context.Context, cfg Config) (*Process, error) {
	log, err := os.OpenFile(cfg.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open process log: %w", err)
	}

	// The command outlives ctx on purpose: ctx bounds the start only, Stop and Kill end the child.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), cfg.Path, cfg.Args...)
	cmd.Env = cfg.Env
	cmd.Dir = os.TempDir() // readable under every user, and no test folder is held busy
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = childAttr(cfg.User)
	err = cmd.Start()
	_ = log.Close() // nothing of ours is in it, and the child has a descriptor of its own
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", cfg.Path, err)
	}
	p := &Process{cmd: cmd, stopSignal: cfg.StopSignal, exited: make(chan struct{})}
	if p.stopSignal == 0 {
		p.stopSignal = syscall.SIGTERM
	}
	go func() {
		_ = cmd.Wait() // how it ended is in the log; a killed child is no error here
		close(p.exited)
	}()
	if err := p.awaitReady(ctx, cfg.Ready); err != nil {
		p.Kill()
		return nil, fmt.Errorf("start %s: %w; its log ends:\n%s", cfg.Path, err, tail(cfg.LogPath))
	}
	return p, nil
}

func (p *Process) awaitReady(ctx context.Context, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		last := ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.exited:
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %v: %w", readyTimeout, last)
		case <-tick.C:
		}
	}
}

// Stop asks the process to end, waits for that, and kills it after thirty seconds. Stopping an ended process does nothing.
func (p *Process) Stop() {
	p.signal(p.stopSignal)
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		p.Kill()
	}
}

// Kill ends the process as a power cut would (SIGKILL) and waits until it is gone.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.exited
}

// PID returns the id of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed once the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

func (p *Process) signal(s syscall.Signal) {
	select {
	case <-p.exited: // the id may belong to somebody else by now
	default:
		_ = p.cmd.Process.Signal(s) // it can only have ended meanwhile
	}
}

// tail returns the last lines of a log, for error texts.
func tail(path string) string {
	const lines = 20
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
