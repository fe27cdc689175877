// Keeps a form on its page that is larger than the console accepts: the page that refuses it would lose what was typed.
const most = Number(document.getElementById("main").dataset.largestForm);

// The bytes of a form as it is sent, where a line ends with two characters.
function size(form, button) {
  const text = new URLSearchParams(new FormData(form, button)).toString();
  return text.length + 3 * (text.split("%0A").length - 1);
}

// Asks before a page is left whose form has changes that are not saved.
let isUnsaved = document.querySelector("form[data-unsaved='yes']") !== null;
document.addEventListener("input", (event) => {
  isUnsaved ||= event.target.form?.dataset.unsaved !== undefined;
});
addEventListener("beforeunload", (event) => {
  if (isUnsaved) event.preventDefault();
});

document.addEventListener("submit", (event) => {
  const form = event.target;
  form.querySelector("[data-too-large]")?.remove();
  // a field may have the name of a property of the form
  const bytes = form.getAttribute("method") === "post" ? size(form, event.submitter) : 0;
  if (bytes <= most) {
    isUnsaved &&= form.dataset.unsaved === undefined;
    return;
  }
  event.preventDefault();
  const alert = document.createElement("div");
  alert.className = "alert danger";
  alert.dataset.tooLarge = "";
  alert.setAttribute("role", "alert");
  alert.tabIndex = -1;
  const [has, limit] = [bytes, most].map((each) => each.toLocaleString("en"));
  const message = document.createElement("p");
  message.textContent = `The form has ${has} bytes, and the limit is ${limit}. Shorten a text, then send it again.`;
  alert.append(message);
  form.prepend(alert);
  alert.focus();
});
