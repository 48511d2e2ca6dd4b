import { Controller } from "@hotwired/stimulus"
import Sortable from "sortablejs"
import { announce } from "../announcer"
import { _ } from "../language"

// A list that is put in order: by its handles with a pointer or a finger, and by the arrow keys on a handle. Inside a
// form the order of the boxes is what counts; a list that saves at once has a form of its own, which says which item
// was moved and between which two it stands now.
export default class Reorder extends Controller<HTMLElement> {
  static override targets = ["item", "form"]

  declare readonly itemTargets: HTMLElement[]
  declare readonly formTarget: HTMLFormElement
  declare readonly hasFormTarget: boolean

  private sortable?: Sortable

  override connect(): void {
    this.sortable = Sortable.create(this.list, {
      animation: matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 120,
      draggable: "[data-reorder-target~=item]",
      handle: ".reorder-handle",
      onEnd: ({ item, oldIndex, newIndex }) => {
        if (oldIndex !== newIndex) this.moved(item)
      },
    })
    document.addEventListener("turbo:before-stream-render", this.keepHandle)
  }

  override disconnect(): void {
    document.removeEventListener("turbo:before-stream-render", this.keepHandle)
    this.sortable?.destroy()
  }

  key(event: KeyboardEvent): void {
    const steps = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    const handle = event.currentTarget as HTMLElement
    const item = handle.closest<HTMLElement>("[data-reorder-target~=item]")
    if (!steps || !item) return
    event.preventDefault()
    const other = this.itemTargets[this.itemTargets.indexOf(item) + steps]
    if (!other) return
    if (steps < 0) other.before(item)
    else other.after(item)
    handle.focus()
    this.moved(item)
  }

  private moved(item: HTMLElement): void {
    const index = this.itemTargets.indexOf(item)
    announce(_("Position {place} of {count}", { place: index + 1, count: this.itemTargets.length }))
    item.dispatchEvent(new Event("input", { bubbles: true }))
    if (!this.hasFormTarget) return
    this.say("moved", item)
    this.say("behind", this.itemTargets[index - 1])
    this.say("before", this.itemTargets[index + 1])
    this.formTarget.requestSubmit()
  }

  // Items that are known by their place are drawn anew in each other's boxes: the focus stays with what was moved.
  private keepHandle = ({ detail }: TurboBeforeStreamRenderEvent): void => {
    const place = this.itemTargets.findIndex((item) => this.handleOf(item) === document.activeElement)
    if (place < 0) return
    const { render } = detail
    detail.render = async (stream) => {
      await render(stream)
      this.handleOf(this.itemTargets[place])?.focus()
    }
  }

  private handleOf(item: HTMLElement | undefined): HTMLElement | null | undefined {
    return item?.querySelector<HTMLElement>(".reorder-handle")
  }

  private say(name: string, item: HTMLElement | undefined): void {
    const box = this.formTarget.elements.namedItem(name)
    if (box instanceof HTMLInputElement) box.value = item?.dataset.reorderId ?? ""
  }

  private get list(): HTMLElement {
    return this.itemTargets[0]?.parentElement ?? this.element
  }
}
