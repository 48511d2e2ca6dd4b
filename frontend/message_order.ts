// A message may arrive twice and in any order: as the answer to the form that sent it, and as an event. It is shown once, in its place.
export function keepMessagesInOrder(): void {
  document.addEventListener("turbo:before-stream-render", (event) => {
    const stream = event.target
    if (stream.getAttribute("action") !== "append" || stream.getAttribute("target") !== "messages") return
    event.detail.render = () => {
      const list = document.getElementById("messages")
      if (!list) return
      for (const message of [...stream.templateContent.children]) insert(list, message as HTMLElement)
    }
  })
}

function insert(list: HTMLElement, message: HTMLElement): void {
  const shown = document.getElementById(message.id)
  if (shown) {
    shown.replaceWith(message)
  } else {
    const later = [...list.children].find((other) => number(other as HTMLElement) > number(message))
    list.insertBefore(message, later ?? null)
  }
  document.dispatchEvent(new CustomEvent("messages:inserted", { detail: { id: message.id.replace("message_", "") } }))
}

function number(message: HTMLElement): number {
  return Number(message.dataset.seq)
}
