"""Shows the demo's progress and closing tables; it reads nothing itself.

- ``screen``: chooses between the two screens.
- ``live``: a view on a terminal, rendered by ``rich``; ``plain``: lines of text.
- ``board``: the contents that both show, as plain values.
- ``model_words``: a table of the costs that the coordinator's model predicts.
"""
