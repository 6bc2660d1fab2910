import { Link } from '@tanstack/react-router';

export function Brand() {
  return (
    <Link to="/" className="brand">
      <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
        <rect width="32" height="32" rx="8" className="brand-ground" />
        <path d="M8 22V12.5a3 3 0 0 1 3-3h1.5v12.5M12.5 14H25" className="brand-line" />
        <circle cx="21" cy="21" r="1.9" className="brand-dot" />
      </svg>
      Tollkeeper
    </Link>
  );
}
