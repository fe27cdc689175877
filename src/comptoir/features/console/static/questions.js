// Asks questions in dialogs. Without scripts, a question is a page of its own or unfolds in its place.
function asks(opener, dialog) {
  const refusal = dialog.querySelector("[data-closes]");
  dialog.setAttribute("aria-label", dialog.querySelector("h2").textContent);
  opener.setAttribute("aria-haspopup", "dialog");
  opener.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.showModal();
    refusal.focus();
  });
  refusal.hidden = false;
  refusal.addEventListener("click", (event) => {
    event.preventDefault();
    dialog.close();
  });
}

for (const opener of document.querySelectorAll("[data-asks]")) {
  asks(opener, document.getElementById(opener.dataset.asks));
}
for (const folded of document.querySelectorAll("details.question")) {
  const [summary, ...question] = folded.children;
  const opener = document.createElement("button");
  opener.textContent = summary.textContent;
  opener.ariaLabel = summary.ariaLabel;
  const dialog = document.createElement("dialog");
  dialog.append(...question);
  folded.replaceWith(opener, dialog);
  asks(opener, dialog);
}
