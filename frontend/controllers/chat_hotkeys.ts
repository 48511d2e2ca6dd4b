import { Controller } from "@hotwired/stimulus"
import { type Action, isCharacter, isComposing, isKeyInTextOf, isNeverTyped, pressed } from "../keys"
import { pressOnLastReply } from "../last_reply"

const ACTIONS: [Action, () => boolean][] = [
  ["regenerate", () => pressOnLastReply("regenerate")],
  ["continue", () => pressOnLastReply("continue")],
  ["swipe_previous", () => pressOnLastReply("previous")],
  ["swipe_next", () => pressOnLastReply("next")],
  ["edit_last", editLastOwn],
]

// Keys for the messages. In the box they count only while it is empty, but for those with Ctrl and Alt.
export default class ChatHotkeys extends Controller {
  press(event: KeyboardEvent): void {
    if (isComposing(event) || event.defaultPrevented || event.repeat) return
    if (document.querySelector("dialog[open], :popover-open")) return
    const box = event.target instanceof HTMLTextAreaElement && event.target.id === "composer_text" ? event.target : null
    if (!box && event.target !== document.body && (event.target as Element).id !== "main") return
    const key = pressed(event)
    if (box && !isNeverTyped(key) && (box.value !== "" || isCharacter(key))) return
    const found = ACTIONS.find(([action]) => isKeyInTextOf(action, event))
    if (found?.[1]()) event.preventDefault()
  }
}

function editLastOwn(): boolean {
  const links = document.querySelectorAll<HTMLElement>('#messages > .message-own [data-act="edit"]')
  const link = links[links.length - 1]
  link?.click()
  return link !== undefined
}
