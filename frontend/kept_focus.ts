type SubmitStart = CustomEvent<{ formSubmission: { submitter?: HTMLElement } }>

// A button that was pressed is disabled until the answer comes, and then perhaps replaced; both lose the focus. The
// button of the same id gets it back, unless somebody has gone elsewhere in the meantime.
export function keepFocus(): void {
  let pressed = ""
  document.addEventListener("turbo:submit-start", (event) => {
    // A form that sends itself, such as a draft, is pressed by nobody.
    const { submitter } = (event as SubmitStart).detail.formSubmission
    if (submitter) pressed = submitter.id
  })
  document.addEventListener("turbo:before-stream-render", ({ detail }) => {
    const { render } = detail
    detail.render = async (element) => {
      await render(element)
      giveBack()
    }
  })
  // What is drawn while the button is still disabled leaves it the focus, which the browser takes away a frame later.
  document.addEventListener("turbo:submit-end", () => {
    giveBack()
    requestAnimationFrame(() => requestAnimationFrame(giveBack))
  })

  function giveBack(): void {
    if (pressed && document.activeElement === document.body) document.getElementById(pressed)?.focus()
  }
}
