// Loaded into the process that scripts/launch.js starts. A killed launcher can no longer forward signals, but the
// channel to it closes, which counts as the signal to stop.
import process from 'node:process';

// Child processes inherit the variable but have another parent.
if (process.channel !== undefined && process.env.TOLLKEEPER_LAUNCHER === String(process.ppid)) {
  // 0 is the process group created by the launcher: the program and its children.
  const target = process.platform === 'win32' ? process.pid : 0;
  process.once('disconnect', () => process.kill(target, 'SIGTERM'));
  process.channel.unref();
}
delete process.env.TOLLKEEPER_LAUNCHER;
