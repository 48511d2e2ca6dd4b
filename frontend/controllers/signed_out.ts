import { Controller } from "@hotwired/stimulus"
import { setDraftOwner } from "../draft"

// Drafts stay for who wrote them, but the next person at this computer is not shown them.
export default class SignedOut extends Controller {
  override connect(): void {
    setDraftOwner("")
  }
}
