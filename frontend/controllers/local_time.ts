import { Controller } from "@hotwired/stimulus"
import { locale } from "../language"

const clock = new Intl.DateTimeFormat(locale, { timeStyle: "short" })
const dayAndClock = new Intl.DateTimeFormat(locale, { day: "numeric", month: "short", hour: "numeric", minute: "2-digit" })
const dayAndYear = new Intl.DateTimeFormat(locale, { dateStyle: "medium" })
const everything = new Intl.DateTimeFormat(locale, { dateStyle: "full", timeStyle: "short" })

// A moment in the reader's own place and language: the time today, the day before that.
export default class LocalTime extends Controller<HTMLTimeElement> {
  override connect(): void {
    const moment = new Date(this.element.dateTime)
    if (Number.isNaN(moment.getTime())) return
    const now = new Date()
    this.element.title = everything.format(moment)
    if (moment.toDateString() === now.toDateString()) this.element.textContent = clock.format(moment)
    else if (moment.getFullYear() === now.getFullYear())
      this.element.textContent = dayAndClock.format(moment)
    else this.element.textContent = dayAndYear.format(moment)
  }
}
