// Where the page says why something was not done; the server puts its sentences there too. What was typed stays.
export function showProblem(sentence: string, near?: EventTarget | null): void {
  const place = placeFor(near)
  if (!place) return
  if (sentence === "") {
    place.replaceChildren()
    return
  }
  const line = document.createElement("p")
  line.className = "problem"
  line.textContent = sentence
  place.replaceChildren(line)
  place.scrollIntoView({ block: "nearest" })
}

// A form that is sent again is no longer wrong, as far as anybody knows; and what the server says is seen.
export function keepProblemsInView(): void {
  document.addEventListener("turbo:submit-start", ({ target }) => {
    showProblem("", target)
  })
  document.addEventListener("turbo:before-stream-render", (event) => {
    const { target, detail } = event
    const place = document.getElementById(target.getAttribute("target") ?? "")
    if (target.getAttribute("action") !== "update" || !place?.matches("[role=alert]")) return
    const { render } = detail
    detail.render = async (element) => {
      await render(element)
      place.scrollIntoView({ block: "nearest" })
    }
  })
}

// A part of the page may name a place of its own.
function placeFor(near?: EventTarget | null): HTMLElement | null {
  const part = near instanceof Element ? near.closest<HTMLElement>("[data-problem-place]") : null
  return document.getElementById(part?.dataset.problemPlace ?? "problem")
}
