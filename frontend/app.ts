import { Application } from "@hotwired/stimulus"
import "@hotwired/turbo"
import Appearance from "./controllers/appearance"
import AutoMode from "./controllers/auto_mode"
import CardCheck from "./controllers/card_check"
import ChatHotkeys from "./controllers/chat_hotkeys"
import ChatScroll from "./controllers/chat_scroll"
import CommandPalette from "./controllers/command_palette"
import ConfirmLeave from "./controllers/confirm_leave"
import ConversationChannel from "./controllers/conversation_channel"
import FileForm from "./controllers/file_form"
import Copilot from "./controllers/copilot"
import Crop from "./controllers/crop"
import DayMarks from "./controllers/day_marks"
import DryRun from "./controllers/dry_run"
import DryRunProgress from "./controllers/dry_run_progress"
import FilterLink from "./controllers/filter_link"
import FindBar from "./controllers/find_bar"
import FolderImport from "./controllers/folder_import"
import FormRows from "./controllers/form_rows"
import FrameDialog from "./controllers/frame_dialog"
import Help from "./controllers/help"
import ImportDrop from "./controllers/import_drop"
import ImportProgress from "./controllers/import_progress"
import Inspector from "./controllers/inspector"
import KeptOpen from "./controllers/kept_open"
import KeyRecorder from "./controllers/key_recorder"
import LiveForm from "./controllers/live_form"
import LiveRendering from "./controllers/live_rendering"
import LiveSearch from "./controllers/live_search"
import LocalTime from "./controllers/local_time"
import MacroText from "./controllers/macro_text"
import MessageActions from "./controllers/message_actions"
import MessageEdit from "./controllers/message_edit"
import MessageForm from "./controllers/message_form"
import MessagePictures from "./controllers/message_pictures"
import ModelPicker from "./controllers/model_picker"
import Notifications from "./controllers/notifications"
import Offline from "./controllers/offline"
import Overlay from "./controllers/overlay"
import PageDraft from "./controllers/page_draft"
import PanelNews from "./controllers/panel_news"
import People from "./controllers/people"
import PictureViewer from "./controllers/picture_viewer"
import PipelineSteps from "./controllers/pipeline_steps"
import ProfileEditor from "./controllers/profile_editor"
import PromptPreview from "./controllers/prompt_preview"
import QuickReplies from "./controllers/quick_replies"
import ReadPosition from "./controllers/read_position"
import Rename from "./controllers/rename"
import Reorder from "./controllers/reorder"
import ResultKeys from "./controllers/result_keys"
import RoundEditor from "./controllers/round_editor"
import SchemaRenderer from "./controllers/schema_renderer"
import Selection from "./controllers/selection"
import ScriptTest from "./controllers/script_test"
import SettingsForm from "./controllers/settings_form"
import SidePanel from "./controllers/side_panel"
import SignedOut from "./controllers/signed_out"
import StopKey from "./controllers/stop_key"
import SubmitOnChange from "./controllers/submit_on_change"
import SwipeTouch from "./controllers/swipe_touch"
import Theme from "./controllers/theme"
import TimeZone from "./controllers/time_zone"
import Toast from "./controllers/toast"
import Typing from "./controllers/typing"
import { keepFocus } from "./kept_focus"
import { keepEditedMessages } from "./edited_messages"
import { keepMessagesInOrder } from "./message_order"
import { keepRunsInOrder } from "./run_order"
import { keepProblemsInView } from "./problem"
import { passOnNews } from "./news"
import { limitRequests } from "./request_limit"
import { reportLostSubmissions } from "./lost_submissions"
import { watchReplyNotices } from "./reply_notices"
import { registerServiceWorker } from "./service_worker_registration"

keepMessagesInOrder()
keepEditedMessages()
keepRunsInOrder()
keepFocus()
keepProblemsInView()
passOnNews()
limitRequests()
reportLostSubmissions()
watchReplyNotices()
registerServiceWorker()

const application = Application.start()
application.register("appearance", Appearance)
application.register("auto-mode", AutoMode)
application.register("card-check", CardCheck)
application.register("chat-hotkeys", ChatHotkeys)
application.register("chat-scroll", ChatScroll)
application.register("command-palette", CommandPalette)
application.register("confirm-leave", ConfirmLeave)
application.register("conversation-channel", ConversationChannel)
application.register("file-form", FileForm)
application.register("copilot", Copilot)
application.register("crop", Crop)
application.register("day-marks", DayMarks)
application.register("dry-run", DryRun)
application.register("dry-run-progress", DryRunProgress)
application.register("filter-link", FilterLink)
application.register("find-bar", FindBar)
application.register("folder-import", FolderImport)
application.register("form-rows", FormRows)
application.register("frame-dialog", FrameDialog)
application.register("help", Help)
application.register("import-drop", ImportDrop)
application.register("import-progress", ImportProgress)
application.register("inspector", Inspector)
application.register("kept-open", KeptOpen)
application.register("key-recorder", KeyRecorder)
application.register("live-form", LiveForm)
application.register("live-rendering", LiveRendering)
application.register("live-search", LiveSearch)
application.register("local-time", LocalTime)
application.register("macro-text", MacroText)
application.register("message-actions", MessageActions)
application.register("message-edit", MessageEdit)
application.register("message-form", MessageForm)
application.register("message-pictures", MessagePictures)
application.register("model-picker", ModelPicker)
application.register("notifications", Notifications)
application.register("offline", Offline)
application.register("overlay", Overlay)
application.register("page-draft", PageDraft)
application.register("panel-news", PanelNews)
application.register("people", People)
application.register("picture-viewer", PictureViewer)
application.register("pipeline-steps", PipelineSteps)
application.register("profile-editor", ProfileEditor)
application.register("prompt-preview", PromptPreview)
application.register("quick-replies", QuickReplies)
application.register("read-position", ReadPosition)
application.register("rename", Rename)
application.register("reorder", Reorder)
application.register("result-keys", ResultKeys)
application.register("round-editor", RoundEditor)
application.register("schema-renderer", SchemaRenderer)
application.register("selection", Selection)
application.register("script-test", ScriptTest)
application.register("settings-form", SettingsForm)
application.register("side-panel", SidePanel)
application.register("signed-out", SignedOut)
application.register("stop-key", StopKey)
application.register("submit-on-change", SubmitOnChange)
application.register("swipe-touch", SwipeTouch)
application.register("theme", Theme)
application.register("time-zone", TimeZone)
application.register("toast", Toast)
application.register("typing", Typing)
