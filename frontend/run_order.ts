// The place of the reply and the group bar are drawn both by answers and by events, on two connections: what is older
// than what is shown already is not drawn. Their version is the number of the conversation's last event when the server
// drew them.
const PLACES = ["run", "group_bar"]
const latest = new Map<string, number>()

export function keepRunsInOrder(): void {
  document.addEventListener("turbo:load", () => latest.clear())
  document.addEventListener("turbo:before-stream-render", (event) => {
    const stream = event.target
    const target = stream.getAttribute("target") ?? ""
    if (stream.getAttribute("action") !== "replace" || !PLACES.includes(target)) return
    const version = versionOf(stream.templateContent.querySelector(`#${target}`))
    if (version === undefined) return
    // Drawing waits for the next frame, so what was let through counts, and not what is in the page.
    const shown = latest.get(target) ?? versionOf(document.getElementById(target))
    if (shown !== undefined && version < shown) event.preventDefault()
    else latest.set(target, version)
  })
}

function versionOf(element: Element | null): number | undefined {
  const version = element?.getAttribute("data-version")
  return version ? Number(version) : undefined
}
