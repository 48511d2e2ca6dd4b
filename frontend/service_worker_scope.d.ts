// The few parts of a service worker that are used here; the types of pages have none of them.
interface ServiceWorkerEvent extends Event {
  waitUntil(work: Promise<unknown>): void
}

interface ServiceWorkerFetchEvent extends ServiceWorkerEvent {
  readonly request: Request
  respondWith(response: Promise<Response>): void
}

interface NotificationClickEvent extends ServiceWorkerEvent {
  readonly notification: Notification
}

interface WindowOfServiceWorker {
  readonly url: string
  focus(): Promise<unknown>
}

interface ServiceWorkerScope {
  // Written before the script by the server.
  readonly KEPT: { version: string; offline: string; assets: string[] }
  readonly clients: {
    claim(): Promise<void>
    matchAll(options: { type: "window"; includeUncontrolled: boolean }): Promise<WindowOfServiceWorker[]>
    openWindow(address: string): Promise<unknown>
  }
  skipWaiting(): Promise<void>
  addEventListener(type: "install" | "activate", listener: (event: ServiceWorkerEvent) => void): void
  addEventListener(type: "fetch", listener: (event: ServiceWorkerFetchEvent) => void): void
  addEventListener(type: "notificationclick", listener: (event: NotificationClickEvent) => void): void
}
