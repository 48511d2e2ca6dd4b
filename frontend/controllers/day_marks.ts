import { Controller } from "@hotwired/stimulus"
import { locale } from "../language"

type FrameRender = CustomEvent<{ render: (from: Element, to: Element) => void }>

const sameYear = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long" })
const otherYear = new Intl.DateTimeFormat(locale, { weekday: "long", day: "numeric", month: "long", year: "numeric" })

// Says between two messages that another day began, where the reader is. Which day that is, only the browser knows.
export default class DayMarks extends Controller<HTMLElement> {
  private observer: MutationObserver | undefined

  override connect(): void {
    this.mark()
    this.observer = new MutationObserver((changes) => {
      if (changes.some(bringsMessages)) this.mark()
    })
    this.observer.observe(this.page, { childList: true, subtree: true })
    // In the capturing phase, so that whoever keeps the reader in place measures the marks as well.
    document.addEventListener("turbo:before-frame-render", this.markOlder, true)
  }

  override disconnect(): void {
    this.observer?.disconnect()
    document.removeEventListener("turbo:before-frame-render", this.markOlder, true)
  }

  private readonly markOlder = (event: Event): void => {
    const { detail } = event as FrameRender
    const { render } = detail
    detail.render = (from, to) => {
      render(from, to)
      this.mark()
      // These are marked; the observer need not look at them again.
      this.observer?.takeRecords()
    }
  }

  private mark(): void {
    // While older messages are to come, nobody knows what day it was before the first.
    let before = this.page.querySelector(".older-link") ? undefined : ""
    for (const message of this.page.querySelectorAll<HTMLElement>("li[data-seq]")) {
      const sent = sentOf(message)
      const day = sent?.day ?? before
      const first = message.firstElementChild
      const mark = first?.classList.contains("day") ? first : undefined
      const isNew = sent !== undefined && before !== undefined && day !== before
      if (isNew && !mark) message.prepend(dayMark(sent.moment))
      else if (!isNew) mark?.remove()
      before = day
    }
  }

  private get page(): HTMLElement {
    return this.element.closest("main") ?? this.element
  }
}

interface Sent {
  moment: Date
  day: string
}

// What each message was sent at does not change, and all of them are asked whenever one comes.
const known = new WeakMap<HTMLElement, Sent>()

function sentOf(message: HTMLElement): Sent | undefined {
  const remembered = known.get(message)
  if (remembered) return remembered
  const time = message.querySelector<HTMLTimeElement>(".message-time time")
  if (!time) return undefined
  const moment = new Date(time.dateTime)
  const sent = { moment, day: moment.toDateString() }
  known.set(message, sent)
  return sent
}

function dayMark(moment: Date): HTMLElement {
  const mark = document.createElement("p")
  mark.className = "day"
  const format = moment.getFullYear() === new Date().getFullYear() ? sameYear : otherYear
  mark.textContent = format.format(moment)
  return mark
}

function bringsMessages(change: MutationRecord): boolean {
  return [...change.addedNodes, ...change.removedNodes].some(
    (node) => node instanceof HTMLElement && (node.matches("li[data-seq]") || node.querySelector("li[data-seq]") !== null),
  )
}
