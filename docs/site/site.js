// The theme puts wide tables into boxes that scroll; the keyboard has to reach these, too.
addEventListener("load", () => {
    for (const box of document.querySelectorAll(".md-typeset__scrollwrap")) box.tabIndex = 0;
});
