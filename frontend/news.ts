import { StreamActions } from "@hotwired/turbo"

// What has changed, by kinds, and the number of the conversation's last event among them.
export type Changed = CustomEvent<{ kinds: string[]; version: number }>

// The server only says what has changed. Whatever is open and shows such things asks for them again.
export function passOnNews(): void {
  StreamActions.changed = function () {
    const kinds = (this.getAttribute("kinds") ?? "").split(" ")
    const version = Number(this.getAttribute("version"))
    document.dispatchEvent(new CustomEvent("channel:changed", { detail: { kinds, version } }))
  }
}
