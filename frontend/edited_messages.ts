// A message may change while somebody rewrites it here. The page then shows the change, and keeps the words in the box;
// whoever saves them is told what the message says by now.
export function keepEditedMessages(): void {
  document.addEventListener("turbo:before-stream-render", (event) => {
    const stream = event.target
    const { render } = event.detail
    event.detail.render = async (element) => {
      const forms = [...document.querySelectorAll<HTMLFormElement>("#main .message-edit")]
      const target = stream.getAttribute("target") ?? ""
      if (stream.getAttribute("action") === "remove") {
        // Deleted elsewhere: the words stay until they are saved, which is refused, or left.
        if (!forms.some((form) => target === messageOf(form))) await render(element)
        return
      }
      const focused = document.activeElement
      await render(element)
      for (const form of forms) if (!form.isConnected) putBack(form, focused)
    }
  })
}

function putBack(form: HTMLFormElement, focused: Element | null): void {
  document.getElementById(messageOf(form))?.querySelector("turbo-frame")?.replaceChildren(form)
  if (focused instanceof HTMLElement && form.contains(focused)) focused.focus({ preventScroll: true })
}

function messageOf(form: HTMLFormElement): string {
  return form.id.replace("edit_", "message_")
}
