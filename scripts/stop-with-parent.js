// Loaded into what scripts/launch.js starts. When the launcher is killed it can pass nothing on any more; the channel
// between the two closes, and that is taken as the signal to stop.
import process from 'node:process';

// Child processes inherit the variable and are no concern of the launcher's.
if (process.channel !== undefined && process.env.TOLLKEEPER_LAUNCHER === String(process.ppid)) {
  // 0 is the process group that the launcher made: the program and what it started.
  const target = process.platform === 'win32' ? process.pid : 0;
  process.once('disconnect', () => process.kill(target, 'SIGTERM'));
  process.channel.unref();
}
delete process.env.TOLLKEEPER_LAUNCHER;
