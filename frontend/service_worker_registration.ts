// Only where the browser allows one: over https, or on the machine itself. The page for a server that cannot be reached
// is in the language of this page.
export function registerServiceWorker(): void {
  if (!("serviceWorker" in navigator)) return
  const address = `/service-worker.js?language=${document.documentElement.lang}`
  // A browser that keeps nothing, as some do in private windows, refuses. Everything else works without it.
  navigator.serviceWorker.register(address, { scope: "/" }).catch(() => undefined)
}
