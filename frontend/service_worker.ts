// Keeps the built files and one page for when the server cannot be reached, and nothing else: no page of a story and no
// answer of the API, because others may use this computer too.
const worker = self as unknown as ServiceWorkerScope
const { version, offline, assets } = worker.KEPT
const CACHE = `tavernkit-${version}`
// What a proxy answers when the server behind it does not.
const NOBODY_THERE = [502, 504]

worker.addEventListener("install", (event) => {
  event.waitUntil(keep().then(() => worker.skipWaiting()))
})

worker.addEventListener("activate", (event) => {
  event.waitUntil(forgetOldCaches().then(() => worker.clients.claim()))
})

worker.addEventListener("fetch", (event) => {
  const { request } = event
  if (request.method !== "GET") return
  if (request.mode === "navigate") event.respondWith(pageOrOffline(request))
  else if (assets.includes(new URL(request.url).pathname)) event.respondWith(keptAsset(request))
})

worker.addEventListener("notificationclick", (event) => {
  event.notification.close()
  event.waitUntil(showConversation(event.notification.data.path))
})

async function keep(): Promise<void> {
  const cache = await caches.open(CACHE)
  await cache.addAll([offline, ...assets])
}

async function forgetOldCaches(): Promise<void> {
  const names = await caches.keys()
  await Promise.all(names.filter((name) => name !== CACHE).map((name) => caches.delete(name)))
}

async function pageOrOffline(request: Request): Promise<Response> {
  try {
    const response = await fetch(request)
    if (!NOBODY_THERE.includes(response.status)) return response
  } catch {
    // Nobody answers.
  }
  return (await caches.match(offline)) ?? Response.error()
}

async function keptAsset(request: Request): Promise<Response> {
  return (await caches.match(request)) ?? fetch(request)
}

async function showConversation(path: string): Promise<unknown> {
  const windows = await worker.clients.matchAll({ type: "window", includeUncontrolled: true })
  const open = windows.find(({ url }) => new URL(url).pathname === path)
  return open ? open.focus() : worker.clients.openWindow(path)
}
