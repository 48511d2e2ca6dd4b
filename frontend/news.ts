import { StreamActions } from "@hotwired/turbo"

// What has changed, by kinds, and the number of the conversation's last event among them.
export type Changed = CustomEvent<{ kinds: string[]; version: number }>

// What was chosen at a place around the conversation; no event of the conversation tells of it.
export type Chosen = CustomEvent<{ place: string; mark: string }>

// The server only says what has changed. Whatever is open and shows such things asks for them again.
export function passOnNews(): void {
  StreamActions.changed = function () {
    const kinds = (this.getAttribute("kinds") ?? "").split(" ")
    const version = Number(this.getAttribute("version"))
    document.dispatchEvent(new CustomEvent("channel:changed", { detail: { kinds, version } }))
  }
  StreamActions.chosen = function () {
    const [place, mark] = [this.getAttribute("place"), this.getAttribute("mark")]
    document.dispatchEvent(new CustomEvent("channel:chosen", { detail: { place, mark } }))
  }
}
