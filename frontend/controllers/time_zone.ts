import { Controller } from "@hotwired/stimulus"
import { limitedFetch } from "../request_limit"

const YEAR_SECONDS = 365 * 24 * 60 * 60

// Sends the server the person's time zone, and again when it has changed: prompts have the person's time.
export default class TimeZone extends Controller {
  override connect(): void {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
    if (!zone) return
    const sent = `time_zone=${encodeURIComponent(zone)}`
    if (document.cookie.split("; ").includes(sent)) return
    const body = new URLSearchParams({ time_zone: zone })
    limitedFetch("/account/time_zone", { method: "POST", body, keepalive: true })
      .then(({ ok }) => {
        if (ok) document.cookie = `${sent}; path=/; max-age=${YEAR_SECONDS}; samesite=lax`
      })
      .catch(() => {
        // The next page sends it.
      })
  }
}
