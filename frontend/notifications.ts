import { load } from "./storage"

// Kept in the browser, not in the account: the browser asks for permission on every device.
export const NOTIFY_KEY = "tavernkit:notifications"
export const SHOW_TEXT_KEY = "tavernkit:notification-text"

export function canNotify(): boolean {
  return "Notification" in window && isSecureContext
}

export function areNotificationsOn(): boolean {
  return canNotify() && load(NOTIFY_KEY) === "on" && Notification.permission === "granted"
}
