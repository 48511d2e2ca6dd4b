// The reply at the end of the conversation: the one that keys and fingers act on.
export function lastReply(): HTMLElement | undefined {
  const last = document.querySelector<HTMLElement>("#messages > li:last-child")
  return last?.dataset.role === "assistant" ? last : undefined
}

// Presses one of its buttons; false when there is none to be pressed, or while somebody writes.
export function pressOnLastReply(act: "previous" | "next" | "regenerate" | "continue"): boolean {
  if (document.getElementById("stop_form")) return false
  const button = lastReply()?.querySelector<HTMLElement>(`[data-act="${act}"]:not(:disabled)`)
  button?.click()
  return button !== undefined && button !== null
}
