import { Controller } from "@hotwired/stimulus"
import { _, ngettext } from "../language"

// A hint is good for this long; the server is told again while somebody goes on typing.
const TYPING_MS = 6_000
const TELL_AGAIN_MS = 3_000
const MOST_NAMED = 3

interface Person {
  member: string
  name: string
}

// Who else has this conversation open, and who of them is typing. Nothing here is kept.
export default class People extends Controller<HTMLElement> {
  static override targets = ["here", "typing"]
  static override values = { url: String }

  declare readonly hereTarget: HTMLElement
  declare readonly typingTarget: HTMLElement
  declare readonly urlValue: string

  private readonly writers = new Map<string, { name: string; timer: number }>()
  private toldAt = 0

  override disconnect(): void {
    for (const { timer } of this.writers.values()) clearTimeout(timer)
    this.writers.clear()
  }

  arrived({ detail }: CustomEvent<{ people: Person[] }>): void {
    const names = detail.people.map((person) => person.name)
    this.hereTarget.hidden = names.length === 0
    this.hereTarget.textContent = names.length === 0 ? "" : _("Here now: {names}", { names: listed(names) })
    for (const member of this.writers.keys()) {
      if (!detail.people.some((person) => person.member === member)) this.stopped(member)
    }
  }

  typed({ detail }: CustomEvent<Person>): void {
    clearTimeout(this.writers.get(detail.member)?.timer)
    const timer = window.setTimeout(() => this.stopped(detail.member), TYPING_MS)
    this.writers.set(detail.member, { name: detail.name, timer })
    this.draw()
  }

  // A new connection says anew who is there.
  opened(): void {
    this.toldAt = 0
  }

  write(event: Event): void {
    const { target } = event
    if (!(target instanceof HTMLTextAreaElement) || target.id !== "composer_text" || target.value.trim() === "") return
    if (Date.now() - this.toldAt < TELL_AGAIN_MS) return
    this.toldAt = Date.now()
    // A hint: whether it arrives is nobody's business.
    void fetch(this.urlValue, { method: "POST", keepalive: true }).catch(() => undefined)
  }

  private stopped(member: string): void {
    clearTimeout(this.writers.get(member)?.timer)
    this.writers.delete(member)
    this.draw()
  }

  private draw(): void {
    const names = [...this.writers.values()].map((writer) => writer.name)
    const text =
      names.length === 0 ? "" : ngettext("{names} is typing…", "{names} are typing…", names.length, { names: listed(names) })
    if (this.typingTarget.textContent !== text) this.typingTarget.textContent = text
  }
}

function listed(names: string[]): string {
  const shown = names.slice(0, MOST_NAMED).join(", ")
  return names.length > MOST_NAMED ? _("{names} and others", { names: shown }) : shown
}
