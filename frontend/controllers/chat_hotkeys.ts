import { Controller } from "@hotwired/stimulus"
import { pressOnLastReply } from "../last_reply"

// Keys for the messages. In the box they count only while it is empty, but for those with Ctrl and Alt.
export default class ChatHotkeys extends Controller {
  press(event: KeyboardEvent): void {
    // While somebody composes a character, keys belong to the input method (229 is how Safari says so).
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented || event.repeat) return
    if (document.querySelector("dialog[open], :popover-open")) return
    const box = event.target instanceof HTMLTextAreaElement && event.target.id === "composer_text" ? event.target : null
    if (!box && event.target !== document.body && (event.target as Element).id !== "main") return
    if (this.act(event, box)) event.preventDefault()
  }

  private act(event: KeyboardEvent, box: HTMLTextAreaElement | null): boolean {
    if (event.key === "Enter") {
      if (event.shiftKey) return false
      if ((event.ctrlKey || event.metaKey) && !event.altKey) return pressOnLastReply("regenerate")
      return event.altKey && !event.ctrlKey && !event.metaKey && pressOnLastReply("continue")
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || box?.value !== "") return false
    if (event.key === "ArrowUp") return editLastOwn()
    if (event.key === "ArrowLeft") return pressOnLastReply("previous")
    return event.key === "ArrowRight" && pressOnLastReply("next")
  }
}

function editLastOwn(): boolean {
  const links = document.querySelectorAll<HTMLElement>('#messages > .message-own [data-act="edit"]')
  const link = links[links.length - 1]
  link?.click()
  return link !== undefined
}
