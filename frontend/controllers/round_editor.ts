import { Controller } from "@hotwired/stimulus"
import { announce } from "../announcer"
import { _ } from "../language"

// The order of speakers. The last place is always free, and stays the last.
export default class RoundEditor extends Controller<HTMLElement> {
  static override targets = ["list", "place"]

  declare readonly listTarget: HTMLElement
  declare readonly placeTargets: HTMLElement[]

  chosen(): void {
    const last = this.placeTargets.at(-1)
    if (!last || selectOf(last).value === "") return
    const free = last.cloneNode(true) as HTMLElement
    selectOf(free).value = ""
    this.listTarget.append(free)
  }

  earlier(event: Event): void {
    const place = placeOf(event)
    place.previousElementSibling?.before(place)
    this.moved(event)
  }

  later(event: Event): void {
    const place = placeOf(event)
    const next = place.nextElementSibling
    if (next && next !== this.placeTargets.at(-1)) next.after(place)
    this.moved(event)
  }

  remove(event: Event): void {
    const place = placeOf(event)
    const next = place.nextElementSibling as HTMLElement | null
    if (!next) return
    announce(_("{name} was removed.", { name: nameOf(place) }))
    place.remove()
    selectOf(next).focus()
  }

  private moved(event: Event): void {
    const place = placeOf(event)
    // An element that is moved loses the focus.
    ;(event.currentTarget as HTMLElement).focus()
    const number = this.placeTargets.indexOf(place) + 1
    announce(_("{name} is number {number}.", { name: nameOf(place), number }))
  }
}

function placeOf(event: Event): HTMLElement {
  return (event.currentTarget as HTMLElement).closest("li") as HTMLElement
}

function selectOf(place: HTMLElement): HTMLSelectElement {
  return place.querySelector("select") as HTMLSelectElement
}

function nameOf(place: HTMLElement): string {
  return selectOf(place).selectedOptions[0]?.textContent ?? ""
}
