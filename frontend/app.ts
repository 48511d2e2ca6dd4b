import { Application } from "@hotwired/stimulus"
import "@hotwired/turbo"
import ChatScroll from "./controllers/chat_scroll"
import ConversationChannel from "./controllers/conversation_channel"
import LocalTime from "./controllers/local_time"
import MessageForm from "./controllers/message_form"
import StopKey from "./controllers/stop_key"
import Theme from "./controllers/theme"
import Typing from "./controllers/typing"
import { keepMessagesInOrder } from "./message_order"
import { keepRunsInOrder } from "./run_order"
import { reportLostSubmissions } from "./lost_submissions"

keepMessagesInOrder()
keepRunsInOrder()
reportLostSubmissions()

const application = Application.start()
application.register("chat-scroll", ChatScroll)
application.register("conversation-channel", ConversationChannel)
application.register("local-time", LocalTime)
application.register("message-form", MessageForm)
application.register("stop-key", StopKey)
application.register("theme", Theme)
application.register("typing", Typing)
